import type { Db } from '../../db/client.ts'
import { knownMigrations } from '../../db/known-migrations.ts'
import { countMigrations } from '../../db/queries/batches/count-migrations.ts'
import { countLiveRoles } from '../../db/queries/fleet/count-live-roles.ts'
import { countBrokenSeals } from '../../db/queries/seals/count-broken-seals.ts'
import { findUnopened } from '../../db/queries/seals/find-unopened.ts'
import { many } from '../domain/text/sentence.ts'
import type { Readiness } from '../process/health.ts'
import { keyReasons } from '../sealing/key-watch.ts'
import type { ApiDeps } from './http/env.ts'

const checkMs = 1_500

/**
 * Whether work can flow: the database answers and has this version's schema, the bell store answers, and there are
 * a conductor to ring and a worker to come.
 */
export const checkReadiness = async (
  deps: Pick<ApiDeps, 'db' | 'bell' | 'leaseMs' | 'sealer'>,
): Promise<Readiness> => {
  const checks = [
    said('The database', checkDatabase(deps.db, deps.leaseMs)),
    said('The database', checkSecretKey(deps)),
    ...(deps.bell
      ? [
          said(
            `The bell store (${deps.bell.store})`,
            deps.bell.check().then(() => undefined),
          ),
        ]
      : []),
  ]
  const [unopened, sites, ...seen] = await Promise.all([
    within([], warnOfUnopened(deps)),
    within([], warnOfSites(deps.db)),
    ...checks,
  ])
  const reasons = [...new Set(seen)].filter((reason) => reason !== undefined)
  if (!deps.bell) reasons.push('This process has no bell store.')
  return { ready: reasons.length === 0, reasons, warnings: [...unopened, ...sites] }
}

/** After a key was lost. The page is public, so it counts; `drover doctor` names them. */
const warnOfUnopened = async ({ db, sealer }: Pick<ApiDeps, 'db' | 'sealer'>): Promise<string[]> => {
  const [first] = await findUnopened(db, sealer.keyIds, 1)
  return first === undefined
    ? []
    : [
        `No key that is in use opens the secrets of ${many(first.total, 'source, target or webhook: it', 'sources, targets or webhooks: they')} must be given ` +
          'again. `drover doctor` names them.',
      ]
}

/**
 * Without names: the page is public. Not being ready would take away the API that is needed to give the password again,
 * and all other sites have theirs.
 */
const warnOfSites = async (db: Db): Promise<string[]> => {
  const sites = await countBrokenSeals(db)
  if (sites === 0) return []
  const [what, work] = sites === 1 ? ['1 source or target', 'it'] : [`${sites} sources and targets`, 'them']
  return [
    `The stored password of ${what} does not open, because its row was changed outside Drover or its key is missing; work with ${work} waits. \`drover doctor\` names ${work} and says what to do.`,
  ]
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

/** Without the ids of keys: the page is public. */
const checkSecretKey = async ({
  db,
  sealer,
}: Pick<ApiDeps, 'db' | 'sealer'>): Promise<string | undefined> => {
  const [reason] = await keyReasons(db, sealer)
  return reason === undefined ? undefined : 'The database is sealed with another key: the log says which.'
}

/** A newer schema is fine: migrations keep what the version before needs. */
const wanted = knownMigrations.length

/** The reason against readiness, if any. A check that hangs is one. Names no address: the page is public. */
const said = async (what: string, check: Promise<string | undefined>): Promise<string | undefined> => {
  const late = `${what} does not answer.`
  return await within(
    late,
    check.catch(() => `${what} cannot be reached.`),
  )
}

/** What a check says, or something else where it says nothing in time. */
const within = async <Said>(otherwise: Said, check: Promise<Said>): Promise<Said> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<Said>((resolve) => {
    timer = setTimeout(() => resolve(otherwise), checkMs)
  })
  try {
    return await Promise.race([check.catch(() => otherwise), late])
  } finally {
    clearTimeout(timer)
  }
}
