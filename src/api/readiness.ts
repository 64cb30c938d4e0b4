import { readFileSync } from 'node:fs'
import type { Db } from '../../db/client.ts'
import { countLiveRoles } from '../../db/queries/count-live-roles.ts'
import { countMigrations } from '../../db/queries/count-migrations.ts'
import type { Readiness } from '../health.ts'
import type { ApiDeps } from './env.ts'

const checkMs = 1_500

/**
 * Whether work can flow: the database answers and has this version's schema, the bell store answers, and there are
 * a conductor to ring and a worker to come.
 */
export const checkReadiness = async (deps: Pick<ApiDeps, 'db' | 'bell' | 'leaseMs'>): Promise<Readiness> => {
  const checks = [
    within('The database', checkDatabase(deps.db, deps.leaseMs)),
    ...(deps.bell
      ? [
          within(
            `The bell store (${deps.bell.store})`,
            deps.bell.check().then(() => undefined),
          ),
        ]
      : []),
  ]
  const reasons = (await Promise.all(checks)).filter((reason) => reason !== undefined)
  if (!deps.bell) reasons.push('This process has no bell store.')
  return { ready: reasons.length === 0, reasons }
}

const checkDatabase = async (db: Db, leaseMs: number): Promise<string | undefined> => {
  const done = await countMigrations(db)
  if (done < wanted)
    return `The database lacks ${wanted - done} of ${wanted} migrations: run \`drover migrate\`.`
  const alive = await countLiveRoles(db, leaseMs)
  if (alive.conductors === 0) return 'No conductor is alive: jobs are kept, and nobody rings for them.'
  if (alive.workers === 0) return 'No worker is alive: jobs are kept, and nobody does them.'
  return undefined
}

/** A newer schema is fine: migrations keep what the version before needs. */
const wanted = (
  JSON.parse(readFileSync(new URL('../../db/migrations/meta/_journal.json', import.meta.url), 'utf8')) as {
    entries: unknown[]
  }
).entries.length

/** The reason against readiness, if any. A check that hangs is one. Names no address: the page is public. */
const within = async (what: string, check: Promise<string | undefined>): Promise<string | undefined> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`${what} does not answer.`), checkMs)
  })
  try {
    return (await Promise.race([check, late])) ?? undefined
  } catch {
    return `${what} cannot be reached.`
  } finally {
    clearTimeout(timer)
  }
}
