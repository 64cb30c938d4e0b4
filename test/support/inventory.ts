import { v7 as uuidv7 } from 'uuid'
import type { Db } from '../../db/client.ts'
import type { InstanceRow, SiteRow, WarningRow } from '../../db/schema/inventory.ts'
import { sealPassword } from '../../src/api/resources/inventory/site-secret.ts'
import { systemClock } from '../../src/clock.ts'
import { readSettings, type SiteRole } from '../../src/domain/inventory/site-settings.ts'
import type { UsePlatform } from '../../src/ledger/job.ts'
import type { OpenPlatform } from '../../src/platforms/open.ts'
import type { Logger } from '../../src/process/log.ts'
import type { Sealer } from '../../src/seal/seal.ts'
import { sitePasswordPlace } from '../../src/seal/seal-places.ts'
import { handleCheckConnection } from '../../workers/handlers/check-connection.ts'
import { handlePowerInstance } from '../../workers/handlers/power-instance.ts'
import { handleSyncSource } from '../../workers/handlers/sync-source.ts'
import { handleSyncTarget } from '../../workers/handlers/sync-target.ts'
import { handleTrackInstance } from '../../workers/handlers/track-instance.ts'
import { LeaseKeeper } from '../../workers/lease-keeper.ts'
import { Platforms } from '../../workers/platforms.ts'
import { Runner } from '../../workers/runner.ts'
import { atEnd } from './cleanup.ts'
import { quietLog, testSealer } from './events.ts'
import { addOne, jobOf, leaseMs, makeDue } from './ledger.ts'

/** A source or target as the API would store it. */
export const makeSite = async (
  db: Db,
  given: {
    role?: SiteRole
    name: string
    kind?: string
    endpoint?: string
    username?: string
    password?: string
    fingerprint?: string
    settings?: Record<string, unknown>
    connectivity?: string
    /** For processes that have another key than the tests. */
    sealer?: Sealer
    /** Nothing happens by the clock. */
    quiet?: boolean
  },
): Promise<SiteRow> => {
  const role = given.role ?? 'source'
  const row = {
    ...{ id: uuidv7(), role, kind: given.kind ?? 'lab', endpoint: given.endpoint ?? 'http://127.0.0.1:9' },
    ...{ username: given.username ?? 'drover', ca: '', fingerprint: given.fingerprint ?? '' },
  }
  const secret = sealPassword(given.sealer ?? testSealer, row, given.password ?? 'imagined-password')
  const settings = readSettings(role, given.settings ?? {})
  // Moments are stored rounded to the millisecond: one of now may lie ahead.
  const dueInSeconds = given.quiet ? 86_400 : -1
  const [site] = await db<SiteRow[]>`
    insert into site (id, role, name, kind, endpoint, username, secret, fingerprint, settings, created_by, connectivity,
      next_check_at, next_sync_at)
    values (${row.id}::uuid, ${role}, ${given.name}, ${row.kind}, ${row.endpoint}, ${row.username}, ${secret},
      ${row.fingerprint}, ${JSON.stringify(settings)}::text::jsonb, 'test', ${given.connectivity ?? 'unknown'},
      now() + ${dueInSeconds} * interval '1 second', now() + ${dueInSeconds} * interval '1 second')
    returning *`
  if (!site) throw new Error('The site was not stored.')
  return site
}

/** Another address, account or certificate of a site, with its password sealed again: as the API changes it. */
export const moveSite = async (
  db: Db,
  given: { readonly name: string; readonly role?: string },
  change: Partial<Pick<SiteRow, 'endpoint' | 'username' | 'fingerprint'>> & { readonly password?: string },
  sealer: Sealer = testSealer,
): Promise<void> => {
  const { password: fresh, ...facts } = change
  const [before] = await db<SiteRow[]>`
    select * from site where name = ${given.name} and role = ${given.role ?? 'source'}`
  if (!before?.secret) throw new Error(`There is no ${given.name} with a password.`)
  const stored = JSON.parse(sealer.open(before.secret, sitePasswordPlace(before))) as { password: string }
  const secret = sealPassword(sealer, { ...before, ...facts }, fresh ?? stored.password)
  await db`update site set ${db({ ...facts, secret })} where id = ${before.id}::uuid`
}

export interface InventoryWorker {
  readonly platforms: Platforms
  readonly use: UsePlatform
  /** Enqueues a job and runs it here, once. Returns its id. */
  run(kind: string, payload: Record<string, unknown>): Promise<string>
  /** Runs a job that is there, as if its bell had just been heard. */
  follow(id: string): Promise<void>
  /** One sync; gives the job's state and result. */
  sync(
    name: string,
    options?: { mode?: 'full' | 'delta'; force?: boolean; role?: SiteRole },
  ): Promise<{ state: string; result: Record<string, unknown>; error: Record<string, unknown> }>
}

/** A worker of this process for the jobs of the inventory, on platforms that the test opens. */
export const createInventoryWorker = (
  db: Db,
  open: OpenPlatform,
  log: Logger = quietLog,
  sealer: Sealer = testSealer,
): InventoryWorker => {
  const platforms = new Platforms({ sealer, caller: 'drover/test', openers: { lab: open, vsphere: open } })
  atEnd(() => platforms.close())
  const use = platforms.use.bind(platforms)
  const handlers = [
    handleSyncSource(sealer),
    handleSyncTarget(sealer),
    handleCheckConnection,
    handlePowerInstance,
    handleTrackInstance,
  ]
  const base = { db, workerId: uuidv7(), leaseMs, clock: systemClock, log }
  const runner = new Runner({
    ...base,
    usePlatform: use,
    keeper: new LeaseKeeper(base),
    handlers: new Map(handlers.map((handler) => [handler.kind.kind, handler])),
    undoers: new Map(Object.entries(handleTrackInstance.undoers ?? {})),
  })
  const follow = async (id: string) => {
    await makeDue(db, id)
    const { kind, generation } = await jobOf(db, id)
    await runner.follow(kind, { id, generation })
  }
  const run = async (kind: string, payload: Record<string, unknown>) => {
    const { instance } = payload
    const subject = typeof instance === 'string' ? { subject: { type: 'instance', id: instance } } : {}
    const id = await addOne(db, { kind, payload, ...subject })
    await follow(id)
    return id
  }
  return {
    platforms,
    use,
    run,
    follow,
    sync: async (name, options = {}) => {
      const { role = 'source', ...rest } = options
      const { state, result, error } = await jobOf(db, await run(`sync-${role}`, { [role]: name, ...rest }))
      return { state, result: result ?? {}, error: error ?? {} }
    },
  }
}

export const siteOf = async (db: Db, name: string): Promise<SiteRow> => {
  const [site] = await db<SiteRow[]>`select * from site where name = ${name}`
  if (!site) throw new Error(`There is no site ${name}.`)
  return site
}

/** Every record of a source, tombstones too, by its id in the platform. */
export const instancesOf = async (db: Db, name: string): Promise<InstanceRow[]> => db<InstanceRow[]>`
  select i.* from instance i join site s on s.id = i.site_id where s.name = ${name} order by i.ref, i.id`

export const instanceOf = async (db: Db, name: string, ref: string): Promise<InstanceRow> => {
  const [row] = (await instancesOf(db, name)).filter((item) => item.ref === ref)
  if (!row) throw new Error(`There is no instance ${ref} of ${name}.`)
  return row
}

export const warningsOf = async (db: Db, name: string): Promise<WarningRow[]> => db<WarningRow[]>`
  select * from warning where entity_id = ${name} order by type`

/** The story of a subject: its events in order. */
export const eventsOf = async (db: Db, subject: string): Promise<string[]> => {
  const rows = await db<{ type: string }[]>`
    select type from event where subject_id = ${subject} and job_id is null order by xid, id`
  return rows.map((row) => row.type)
}
