import { createHash } from 'node:crypto'
import { v7 as uuidv7 } from 'uuid'
import type { Db, Tx } from '../../db/client.ts'
import { listEntryDisks } from '../../db/queries/copies/entry-disks.ts'
import type { EntryRow } from '../../db/schema/migration.ts'
import type { EffectiveFacts } from '../../src/domain/inventory/overrides.ts'
import { batchConfig, batchDefaults } from '../../src/domain/migration/batch/batch-settings.ts'
import { blockBytes } from '../../src/lab/model/disk-content.ts'
import { nudgeCancel } from '../../src/ledger/jobs/cancel.ts'
import { enqueue } from '../../src/ledger/jobs/enqueue.ts'
import { nudge } from '../../src/ledger/jobs/nudge.ts'
import { resetBatch, searchJob, startBatchNow, stopBatch } from '../../src/migration/batch/batch-verbs.ts'
import { extentBytes } from '../../src/migration/copy/extent-map.ts'
import { actOnEntry, type EntryVerbAsk } from '../../src/migration/entry/entry-verbs.ts'
import { digestsOf, type EntryWorld, recordedOf } from './entry-world.ts'
import type { SiteClient } from './lab.ts'
import { until } from './wait.ts'

/** A batch as a person made it, with a person's verbs. */
export interface TestBatch {
  readonly id: string
  readonly name: string
  start(): Promise<void>
  stop(): Promise<void>
  reset(): Promise<void>
  /** A verb on the entry of a machine; throws what the API would answer. */
  act(ref: string, verb: EntryVerbAsk['verb'], more?: Partial<EntryVerbAsk>): Promise<void>
  /** The entry of a machine of the source. */
  entry(ref: string): Promise<EntryRow>
  entries(): Promise<EntryRow[]>
}

/** Makes a batch of these machines of the source, in place of the one that the world came with. */
export const makeBatch = async (
  world: EntryWorld,
  given: {
    readonly name: string
    readonly refs: readonly string[]
    /** Of these refs the machines of this source alone; left out: there is but one. */
    readonly source?: string
    readonly script?: string
    readonly config?: Record<string, unknown>
  },
): Promise<TestBatch> => {
  const { db, target, batch: old } = world
  await db`delete from batch where id = ${old.id}::uuid`
  const id = uuidv7()
  const { name, source = null } = given
  const named = await db<{ name: string }[]>`
    select i.name from instance i join site s on s.id = i.site_id
    where ref = any(${[...given.refs]}::text[]) and s.name = coalesce(${source}, s.name)`
  const names = `name in ${JSON.stringify(named.map((instance) => instance.name))}`
  const include = source === null ? names : `source == ${JSON.stringify(source)} && ${names}`
  const defaults = batchDefaults.parse({ placement: { target: target.name, storage_pool: 'local' } })
  const config = batchConfig.parse({
    placement_scriptlet: given.script ?? onShop,
    guest_shutdown_limit: '2s',
    boot_limit: '30s',
    instance_restriction_overrides: { allow_no_background_import: true, allow_no_ipv4: true },
    ...given.config,
  })
  await db`
    insert into batch (id, name, include_expression, defaults, config, created_by)
    values (${id}::uuid, ${name}, ${include}, ${JSON.stringify(defaults)}::text::jsonb,
      ${JSON.stringify({ ...config, probes: [] })}::text::jsonb, 'test')`
  await begin(db, (tx) => enqueue(tx, [searchJob({ id, name, version: 1 } as never, 'assign', 'test')]))
  nudge(db)
  await until(
    async () =>
      (await db`select from batch_instance where batch_id = ${id}::uuid`).length === given.refs.length,
    {
      what: 'the batch to have its instances',
      withinMs: 60_000,
    },
  )
  const now = () => ({ name, by: 'test', now: new Date() })
  const entries = async () => db<EntryRow[]>`
    select * from entry where batch_id = ${id}::uuid order by facts ->> 'ref'`
  const entry = async (ref: string) => {
    const found = (await entries()).find(({ facts }) => facts.ref === ref)
    if (!found) throw new Error(`There is no entry of ${ref}.`)
    return found
  }
  return {
    ...{ id, name, entries, entry },
    start: async () => {
      await begin(db, (tx) => startBatchNow(tx, now()))
      nudge(db)
    },
    stop: async () => {
      await begin(db, (tx) => stopBatch(tx, now()))
      nudge(db)
    },
    reset: async () => {
      const confirmedFinished = (await entries()).filter(({ state }) => state === 'finished').length
      await begin(db, (tx) => resetBatch(tx, { ...now(), force: true, confirmedFinished }))
      nudge(db)
    },
    act: async (ref, verb, more = {}) => {
      const asked = { id: (await entry(ref)).id, by: 'test', verb, force: false, cleanup: false, ...more }
      const { canceled } = await begin(db, (tx) => actOnEntry(tx, asked))
      if (canceled) nudgeCancel(db, canceled)
      nudge(db)
    },
  }
}

const begin = async <Result>(db: Db, work: (tx: Tx) => Promise<Result>): Promise<Result> =>
  (await db.begin(work)) as Result

/** Every NIC goes on the shop's bridge. */
export const onShop = `function placement(instance) {
  for (const nic of instance.nics) setNetwork(nic.mac, 'bridge-shop', 'bridged', 10)
}`

/** Where a guest of the lab writes on its first disk: each boot in one block, and its load in a ring of them. */
const guestBlocks = { boot: 1, ring: 16, ringMost: 32 } as const

/**
 * Whether the machine of a finished entry holds what its source held when it was switched off: the source is off still,
 * so both are read and compared, and both with what was recorded. What the guest of a target that runs writes by
 * itself is left out, and nothing else.
 */
export const provenAgainst = async (world: EntryWorld, entry: EntryRow): Promise<string[]> => {
  const { ref } = entry.facts as unknown as EffectiveFacts
  const found: string[] = []
  for (const [nth, row] of (await listEntryDisks(world.db, entry.id)).entries()) {
    const from = { machine: ref, disk: row.disk, capacity: row.capacity }
    const to = { machine: entry.machineRef ?? '', disk: row.targetDisk, capacity: row.capacity }
    const recorded = await recordedOf(world.db, entry.id, row.disk)
    const used = new Set([
      ...(await usedIn(world.from, from)),
      ...(await usedIn(world.to, to)),
      ...recorded.keys(),
    ])
    const sources = await digestsOf(world.from, from, used)
    const targets = await digestsOf(world.to, to, used)
    const zeros = zeroDigests(row.capacity, used)
    for (const at of used) {
      const what = `${ref}, disk ${row.disk}, extent ${at}`
      const expected = recorded.get(at)?.digest ?? zeros.get(at)
      if (sources.get(at) !== expected) found.push(`${what}: the source is not what was recorded`)
      if (targets.get(at) === expected) continue
      const booted = entry.running && nth === 0 && at === 0
      if (!booted || !(await sameButForGuest(world, from, to))) found.push(`${what}: the target differs`)
    }
  }
  return found
}

interface DiskOf {
  readonly machine: string
  readonly disk: string
  readonly capacity: number
}

const bytesOf = async (client: SiteClient, { machine, disk, capacity }: DiskOf): Promise<Buffer> => {
  const length = Math.min(extentBytes, capacity)
  const { status, bytes } = await client.call(
    `GET /instances/${machine}/disks/${disk}/bytes?offset=0&length=${length}`,
  )
  if (status !== 200) throw new Error(`The bytes of ${machine} were refused with ${status}.`)
  return bytes
}

const sameButForGuest = async (
  { lab, from, to }: EntryWorld,
  source: DiskOf,
  target: DiskOf,
): Promise<boolean> => {
  const [one, other] = await Promise.all([bytesOf(from, source), bytesOf(to, target)])
  const { boot, ring, ringMost } = guestBlocks
  const [load] = await lab.database.db<{ blocks: number | null }[]>`
    select (guest -> 'writes' ->> 'blocks')::int as blocks from lab.machine
    where site = 'cloud' and ref = ${target.machine}`
  for (const bytes of [one, other]) {
    bytes.fill(0, boot * blockBytes, (boot + 1) * blockBytes)
    bytes.fill(0, ring * blockBytes, (ring + Math.min(load?.blocks ?? 0, ringMost)) * blockBytes)
  }
  return one.equals(other)
}

const zeroDigests = (capacity: number, extents: Iterable<number>): Map<number, string> => {
  return new Map(
    [...extents].map((at) => {
      const length = Math.min(extentBytes, capacity - at * extentBytes)
      return [at, createHash('sha256').update(Buffer.alloc(length)).digest('hex')]
    }),
  )
}

const usedIn = async (client: SiteClient, { machine, disk }: DiskOf): Promise<Set<number>> => {
  const used = new Set<number>()
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
  return used
}

/** Every machine on the target that carries an entry's tag, whoever's it is. */
export const ownedMachines = async ({ lab }: EntryWorld): Promise<string[]> => {
  const rows = await lab.database.db<{ ref: string }[]>`
    select ref from lab.machine where site = 'cloud' and owner ? 'drover.entry' order by ref`
  return rows.map(({ ref }) => ref)
}

/** Snapshots of ours that are left on the source. */
export const ownSnapshots = async ({ lab }: EntryWorld): Promise<string[]> => {
  const rows = await lab.database.db<{ name: string }[]>`
    select name from lab.snapshot where site = 'vcenter' and name like 'drover-%' order by name`
  return rows.map(({ name }) => name)
}
