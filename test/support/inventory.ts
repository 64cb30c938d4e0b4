import { v7 as uuidv7 } from 'uuid'
import type { Db } from '../../db/client.ts'
import type { InstanceRow, SiteRow, WarningRow } from '../../db/schema/inventory.ts'
import { systemClock } from '../../src/clock.ts'
import { readSettings, type SiteRole } from '../../src/domain/inventory/site-settings.ts'
import type { UsePlatform } from '../../src/inventory/sync-site.ts'
import type { Logger } from '../../src/log.ts'
import type { Sealer } from '../../src/seal.ts'
import type { Handler } from '../../workers/handler.ts'
import { createCheckConnection } from '../../workers/handlers/check-connection.ts'
import { createPowerInstance } from '../../workers/handlers/power-instance.ts'
import { createSyncSource } from '../../workers/handlers/sync-source.ts'
import { createSyncTarget } from '../../workers/handlers/sync-target.ts'
import { createTrackInstance } from '../../workers/handlers/track-instance.ts'
import { LeaseKeeper } from '../../workers/lease-keeper.ts'
import { type OpenPlatform, Platforms } from '../../workers/platforms.ts'
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
  const secret = (given.sealer ?? testSealer).seal(
    JSON.stringify({ password: given.password ?? 'imagined-password' }),
  )
  const settings = readSettings(role, given.settings ?? {})
  // Moments are stored rounded to the millisecond: one of now may lie ahead.
  const dueInSeconds = given.quiet ? 86_400 : -1
  const [site] = await db<SiteRow[]>`
    insert into site (id, role, name, kind, endpoint, username, secret, fingerprint, settings, created_by, connectivity,
      next_check_at, next_sync_at)
    values (${uuidv7()}::uuid, ${role}, ${given.name}, ${given.kind ?? 'lab'},
      ${given.endpoint ?? 'http://127.0.0.1:9'}, ${given.username ?? 'drover'}, ${secret},
      ${given.fingerprint ?? ''}, ${JSON.stringify(settings)}::text::jsonb, 'test', ${given.connectivity ?? 'unknown'},
      now() + ${dueInSeconds} * interval '1 second', now() + ${dueInSeconds} * interval '1 second')
    returning *`
  if (!site) throw new Error('The site was not stored.')
  return site
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
  const parts = { use, sealer }
  const track = createTrackInstance(db, use)
  const handlers = [
    createSyncSource(parts),
    createSyncTarget(parts),
    createCheckConnection(use),
    createPowerInstance(use),
    track,
  ] as readonly Handler[]
  const base = { db, workerId: uuidv7(), leaseMs, clock: systemClock, log }
  const runner = new Runner({
    ...base,
    keeper: new LeaseKeeper(base),
    handlers: new Map(handlers.map((handler) => [handler.kind.kind, handler])),
    undoers: new Map(Object.entries(track.undoers ?? {})),
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
