import { v7 as uuidv7 } from 'uuid'
import type { EntryRow } from '../../db/schema/migration.ts'
import { applyOverrides, type InstanceOverrides } from '../../src/domain/inventory/overrides.ts'
import { batchConfig, batchDefaults } from '../../src/domain/migration/batch/batch-settings.ts'
import { ownerOfEntry } from '../../src/migration/target/ownership.ts'
import { type EntryWorld, entryOf, sendTo } from './entry-world.ts'
import { instanceOf } from './inventory.ts'

/** A script with which everything of the lab's source fits its target. */
export const fittingScript = `function placement(instance) {
  for (const disk of instance.disks) setPool(disk.key, 'ceph')
  for (const nic of instance.nics) setNetwork(nic.mac, 'bridge-shop', 'bridged', 10)
}`

/** Gives the batch other settings; the pool is one that the target has. */
export const setBatch = async (
  { db, batch, target }: EntryWorld,
  given: { readonly defaults?: Record<string, unknown>; readonly config?: Record<string, unknown> },
): Promise<void> => {
  const defaults = batchDefaults.parse({
    placement: { target: target.name, storage_pool: 'local' },
    ...given.defaults,
  })
  const config = batchConfig.parse(given.config ?? {})
  await db`update batch set defaults = ${JSON.stringify(defaults)}::text::jsonb,
    config = ${JSON.stringify(config)}::text::jsonb where id = ${batch.id}::uuid`
}

/** An entry that waits to be placed, as a batch's start makes it; the instance's last one is gone. */
export const waitingEntry = async (
  { db, batch, source }: EntryWorld,
  ref: string,
  overrides: InstanceOverrides = {},
): Promise<string> => {
  const instance = await instanceOf(db, source.name, ref)
  const facts = applyOverrides(instance.facts, overrides)
  const id = uuidv7()
  await db`delete from entry where instance_id = ${instance.id}::uuid`
  await db`
    insert into entry (id, batch_id, instance_id, source_id, state, reason, message, revision, facts, running)
    values (${id}::uuid, ${batch.id}::uuid, ${instance.id}::uuid, ${source.id}::uuid, 'waiting', 'waiting',
      'It waits to be placed.', ${instance.revision}, ${JSON.stringify(facts)}::text::jsonb, true)`
  return id
}

/** Sends the job that places an entry; with what it must hold on its target, where that is known before. */
export const sendPlace = async (
  world: EntryWorld,
  entryId: string,
  tokens: readonly string[] = [`target-creates/${world.target.name}`],
): Promise<string> => {
  const entry = await entryOf(world.db, entryId)
  const payload = { instance_id: entry.instanceId, revision: entry.revision }
  return sendTo(world, entryId, 'place-instance', payload, tokens)
}

/** Machines on the target that carry the tag of an entry of this installation. */
export const oursOf = async ({ db, to }: EntryWorld, entryId: string): Promise<readonly string[]> => {
  const { json } = await to.call('POST /instances/find-owned', { owner: await ownerOfEntry(db, entryId) })
  return (json as { refs: string[] }).refs
}

/** A machine on the target; without an owner it is a stranger's. */
export const addMachine = async (
  { to }: EntryWorld,
  given: {
    readonly name: string
    readonly owner?: Record<string, string>
    readonly disks?: readonly { readonly key: string; readonly capacity: number }[]
    readonly nics?: readonly Record<string, unknown>[]
    readonly pool?: string
  },
): Promise<string> => {
  const task = await to.done(
    'POST /instances',
    {
      ...{ name: given.name, project: 'default', host: '', folder: '', cpus: 1, memory: 1024 ** 3 },
      ...{ uuid: uuidv7(), legacy_boot: false, secure_boot: false, nics: given.nics ?? [] },
      disks: (given.disks ?? []).map((disk) => ({ ...disk, pool: given.pool ?? 'local' })),
      owner: given.owner ?? {},
    },
    { name: uuidv7() },
  )
  if (task.result === null) throw new Error(`The machine was not made: ${task.error?.message}`)
  return task.result
}

export const isThere = async ({ to }: EntryWorld, ref: string): Promise<boolean> =>
  (await to.call(`GET /instances/${ref}`)).status === 200

export const codesOf = (entry: EntryRow): string[] => entry.reasons.map(({ code }) => String(code))
