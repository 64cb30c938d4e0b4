import { readFileSync } from 'node:fs'
import type { Db } from '../../db/client.ts'
import { countMigrations } from '../../db/queries/count-migrations.ts'
import type { Readiness } from '../health.ts'
import type { ApiDeps } from './env.ts'

const checkMs = 1_500

/** Whether work can flow: the database answers and has this version's schema, and the bell store answers. */
export const checkReadiness = async (deps: Pick<ApiDeps, 'db' | 'bell'>): Promise<Readiness> => {
  const checks = [
    within('The database', checkDatabase(deps.db)),
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

const checkDatabase = async (db: Db): Promise<string | undefined> => {
  const done = await countMigrations(db)
  if (done === wanted) return undefined
  return done < wanted
    ? `The database lacks ${wanted - done} of ${wanted} migrations: run \`drover migrate\`.`
    : undefined
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
