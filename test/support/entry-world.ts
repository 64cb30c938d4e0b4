import { createHash } from 'node:crypto'
import { v7 as uuidv7 } from 'uuid'
import type { Db } from '../../db/client.ts'
import { type EntryDiskRow, listEntryDisks } from '../../db/queries/copies/entry-disks.ts'
import type { SiteRow } from '../../db/schema/inventory.ts'
import type { EntryRow } from '../../db/schema/migration.ts'
import { systemClock } from '../../src/clock.ts'
import { isCopied } from '../../src/domain/inventory/copy-way.ts'
import { applyOverrides, type EffectiveFacts } from '../../src/domain/inventory/overrides.ts'
import { batchConfig, batchDefaults } from '../../src/domain/migration/batch/batch-settings.ts'
import type { EntryJobKind } from '../../src/domain/migration/entry/entry-facts.ts'
import type { Handler, UsePlatform } from '../../src/ledger/job.ts'
import { extentBytes } from '../../src/migration/copy/extent-map.ts'
import { sendJob } from '../../src/migration/entry/apply-entry.ts'
import { openLab } from '../../src/platforms/lab/lab.ts'
import type { Sealer } from '../../src/seal/seal.ts'
import { LeaseKeeper } from '../../workers/lease-keeper.ts'
import { Runner } from '../../workers/runner.ts'
import { quietLog } from './events.ts'
import { createInventoryWorker, type InventoryWorker, instanceOf, makeSite } from './inventory.ts'
import type { SiteClient, TestLab } from './lab.ts'
import { jobOf, leaseMs, makeDue, noPlatform } from './ledger.ts'

/** Both ends of a migration on one lab, known to the ledger, and a batch that runs. */
export interface EntryWorld {
  readonly db: Db
  readonly lab: TestLab
  readonly inventory: InventoryWorker
  readonly source: SiteRow
  readonly target: SiteRow
  readonly batch: { readonly id: string; readonly name: string }
  /** Raw clients of both ends. */
  readonly from: SiteClient
  readonly to: SiteClient
}

export const createEntryWorld = async (
  db: Db,
  lab: TestLab,
  options: {
    readonly sealer?: Sealer
    readonly name?: string
    readonly config?: Record<string, unknown>
    readonly probes?: readonly unknown[]
  } = {},
): Promise<EntryWorld> => {
  const suffix = options.name ?? ''
  const site = {
    password: lab.password,
    connectivity: 'ok',
    quiet: true,
    ...(options.sealer ? { sealer: options.sealer } : {}),
  }
  const source = await makeSite(db, { ...site, name: `vc${suffix}`, endpoint: lab.endpoint('vcenter') })
  const target = await makeSite(db, {
    ...site,
    name: `cloud${suffix}`,
    role: 'target',
    endpoint: lab.endpoint('cloud'),
  })
  const inventory = createInventoryWorker(db, openLab, undefined, options.sealer)
  await inventory.sync(source.name)
  const batch = { id: uuidv7(), name: `wave${suffix}` }
  const defaults = batchDefaults.parse({ placement: { target: target.name } })
  const config = { ...batchConfig.parse(options.config ?? {}), probes: options.probes ?? [] }
  await db`
    insert into batch (id, name, state, include_expression, defaults, config, created_by, started_at)
    values (${batch.id}::uuid, ${batch.name}, 'running', 'true', ${JSON.stringify(defaults)}::text::jsonb,
      ${JSON.stringify(config)}::text::jsonb, 'test', now())`
  const [from, to] = await Promise.all([lab.signIn('vcenter'), lab.signIn('cloud')])
  return { db, lab, inventory, source, target, batch, from, to }
}

/** An entry whose machine is on the target already, as place-instance leaves it. */
export const placeEntry = async (world: EntryWorld, ref: string): Promise<EntryRow> => {
  const { db, source, target, batch } = world
  const instance = await instanceOf(db, source.name, ref)
  const facts = applyOverrides(instance.facts, {})
  const id = uuidv7()
  const machine = await createTarget(world, id, facts)
  const networks = Object.fromEntries(
    facts.nics.map(({ mac }) => [mac, { network: 'bridge-shop', nictype: 'bridged', vlan_id: '10' }]),
  )
  const placement = { target: target.name, project: 'default', host: '', pools: {}, networks }
  const [entry] = await db<EntryRow[]>`
    insert into entry (id, batch_id, instance_id, source_id, target_id, state, stage, reason, message, revision, facts,
      placement, running, machine_ref)
    values (${id}::uuid, ${batch.id}::uuid, ${instance.id}::uuid, ${source.id}::uuid, ${target.id}::uuid, 'idle',
      'background', 'created', 'Placed by the test.', ${instance.revision}, ${JSON.stringify(facts)}::text::jsonb,
      ${JSON.stringify(placement)}::text::jsonb, ${facts.running}, ${machine}) returning *`
  for (const disk of facts.disks.filter(isCopied))
    await db`
      insert into entry_disk (entry_id, disk, target_disk, capacity)
      values (${id}::uuid, ${disk.key}, ${disk.key}, ${disk.capacity})`
  if (!entry) throw new Error('The entry was not stored.')
  return entry
}

/** Owner tags of the machine of an entry. */
export const ownerOf = (entryId: string) => ({ 'drover.entry': entryId, 'drover.install': 'test' })

const createTarget = async (world: EntryWorld, entryId: string, facts: EffectiveFacts): Promise<string> => {
  const task = await world.to.done(
    'POST /instances',
    {
      name: facts.target_name,
      project: 'default',
      host: '',
      folder: '',
      cpus: 1,
      memory: 1024 ** 3,
      uuid: facts.uuid,
      legacy_boot: facts.legacy_boot,
      secure_boot: facts.secure_boot,
      nics: facts.nics.map(({ mac }) => ({ mac, network: 'overlay', type: 'managed', vlan: '' })),
      disks: facts.disks.filter(isCopied).map(({ key, capacity }) => ({ key, capacity, pool: 'local' })),
      owner: ownerOf(entryId),
    },
    { name: `make-${entryId}` },
  )
  if (task.result === null) throw new Error(`The machine was not made: ${task.error?.message}`)
  return task.result
}

/** Sends a job to an entry, as the scheduler does. Gives its id. */
export const sendTo = async (
  { db, batch }: EntryWorld,
  entryId: string,
  kind: EntryJobKind,
  payload: Record<string, unknown> = {},
  tokens: readonly string[] = [],
): Promise<string> =>
  (await db.begin(async (tx) => {
    const jobId = await sendJob(tx, batch, { id: entryId }, { kind, payload, tokens })
    await tx`update entry set job_id = ${jobId}::uuid where id = ${entryId}::uuid`
    return jobId
  })) as string

export const entryOf = async (db: Db, id: string): Promise<EntryRow> => {
  const [entry] = await db<EntryRow[]>`select * from entry where id = ${id}::uuid`
  if (!entry) throw new Error(`There is no entry ${id}.`)
  return entry
}

/** A worker of this process for the jobs of journeys. */
export const createEntryWorker = (
  db: Db,
  handlers: readonly Handler[],
  usePlatform: UsePlatform = noPlatform,
) => {
  const base = { db, workerId: uuidv7(), leaseMs, clock: systemClock, log: quietLog }
  const runner = new Runner({
    ...base,
    usePlatform,
    keeper: new LeaseKeeper(base),
    handlers: new Map(handlers.map((handler) => [handler.kind.kind, handler])),
    undoers: new Map(handlers.flatMap(({ undoers }) => Object.entries(undoers ?? {}))),
  })
  return {
    /** One turn of a job that is there. */
    follow: async (id: string) => {
      await makeDue(db, id)
      const { kind, generation } = await jobOf(db, id)
      await runner.follow(kind, { id, generation })
      return jobOf(db, id)
    },
    /** Turns until it has ended; waits are over at once. */
    finish: async (id: string) => {
      for (let turns = 0; turns < 100; turns += 1) {
        await db`update job set state = 'ready', bell = 'due', run_after = now(), wait_reason = null, wait_since = null,
          wait_until = null, wait_signal = null where id = ${id}::uuid and state = 'waiting'`
        await makeDue(db, id)
        const { kind, generation } = await jobOf(db, id)
        await runner.follow(kind, { id, generation })
        const job = await jobOf(db, id)
        if (job.finishedAt !== null) return job
      }
      throw new Error(`Job ${id} did not end.`)
    },
  }
}

/** Digest by extent of what a machine's disk holds now, where a copy has been: read back from the lab. */
export const digestsOf = async (
  client: SiteClient,
  disk: {
    readonly machine: string
    readonly disk: string
    readonly capacity: number
    readonly snapshot?: string
  },
  extents: Iterable<number>,
): Promise<Map<number, string>> => {
  const digests = new Map<number, string>()
  for (const at of extents) {
    const offset = at * extentBytes
    const length = Math.min(extentBytes, disk.capacity - offset)
    const snapshot = disk.snapshot === undefined ? '' : `&snapshot=${disk.snapshot}`
    const path = `/instances/${disk.machine}/disks/${disk.disk}/bytes?offset=${offset}&length=${length}${snapshot}`
    const { status, bytes } = await client.call(`GET ${path}`)
    if (status !== 200) throw new Error(`${path} answered ${status}.`)
    digests.set(at, createHash('sha256').update(bytes).digest('hex'))
  }
  return digests
}

/** What the ledger recorded of a disk. */
export const recordedOf = async (db: Db, entryId: string, disk: string) => {
  const rows = await db<{ at: number; digest: Buffer; cycle: number }[]>`
    select at, digest, cycle from entry_extent where entry_id = ${entryId}::uuid and disk = ${disk} order by at`
  return new Map(rows.map(({ at, digest, cycle }) => [at, { digest: digest.toString('hex'), cycle }]))
}

/**
 * Compares a whole copy, byte by byte through digests: every extent that either side says may hold data, and what the
 * ledger recorded of it. Empty: they are the same.
 */
export const differences = async (world: EntryWorld, entry: EntryRow): Promise<string[]> => {
  const { ref } = entry.facts as unknown as EffectiveFacts
  const found: string[] = []
  for (const row of await listEntryDisks(world.db, entry.id)) {
    const extents = await usedOf(world, { ref, machine: entry.machineRef ?? '' }, row)
    const recorded = await recordedOf(world.db, entry.id, row.disk)
    const [source, target] = await Promise.all([
      digestsOf(world.from, { machine: ref, disk: row.disk, capacity: row.capacity }, extents),
      digestsOf(
        world.to,
        { machine: entry.machineRef ?? '', disk: row.targetDisk, capacity: row.capacity },
        extents,
      ),
    ])
    for (const at of extents) {
      if (source.get(at) !== target.get(at)) found.push(`disk ${row.disk}, extent ${at}: the bytes differ`)
      if (recorded.get(at)?.digest !== target.get(at))
        found.push(`disk ${row.disk}, extent ${at}: what was recorded differs`)
    }
  }
  return found
}

const usedOf = async (
  { from, to }: EntryWorld,
  machines: { readonly ref: string; readonly machine: string },
  row: EntryDiskRow,
): Promise<Set<number>> => {
  const used = new Set<number>()
  const add = async (client: SiteClient, machine: string, disk: string) => {
    for (let offset: number | null = 0; offset !== null; ) {
      const { json } = await client.call(`GET /instances/${machine}/disks/${disk}/extents?offset=${offset}`)
      const page = json as { extents: { offset: number; length: number }[]; next_offset: number | null }
      for (const extent of page.extents)
        for (
          let at = Math.floor(extent.offset / extentBytes);
          at * extentBytes < extent.offset + extent.length;
          at += 1
        )
          used.add(at)
      offset = page.next_offset
    }
  }
  await add(from, machines.ref, row.disk)
  await add(to, machines.machine, row.targetDisk)
  return used
}

/** Names of the snapshots of a machine of the source. */
export const snapshotsOf = async ({ from }: EntryWorld, ref: string): Promise<string[]> => {
  const { json } = await from.call(`GET /instances/${ref}/snapshots`)
  return (json as { snapshots: { name: string }[] }).snapshots.map(({ name }) => name)
}

export const powerOf = async (client: SiteClient, ref: string): Promise<string> => {
  const { json } = await client.call(`GET /instances/${ref}/power`)
  return (json as { state: string }).state
}

/** The story of an entry: its events in order. */
export const eventsOfEntry = async (db: Db, id: string): Promise<string[]> => {
  const rows = await db<{ type: string }[]>`
    select type from event where subject_id = ${id} and type like 'entry.%' order by xid, id`
  return rows.map(({ type }) => type)
}

/** Moments in which two machines of one identity ran with a network. */
export const overlapsOf = async (lab: TestLab): Promise<unknown[]> => {
  const { json } = await lab.admin('GET /lab/overlaps')
  return (json as { overlaps: unknown[] }).overlaps
}

/** Where a disk of the source holds data, as if it always had: ranges of offset and length. */
export const setData = async (
  lab: TestLab,
  disk: { readonly machine: string; readonly key: string },
  data: readonly (readonly [number, number])[],
): Promise<void> => {
  await lab.database.db`
    update lab.disk set profile = jsonb_set(jsonb_set(profile, '{data}', ${JSON.stringify(data)}::text::jsonb), '{random}', '0')
    where site = 'vcenter' and machine = ${disk.machine} and key = ${disk.key}`
}
