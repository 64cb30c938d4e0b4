import { v7 as uuidv7 } from 'uuid'
import { expect, test } from 'vitest'
import { listEntryDisks } from '../../../db/queries/entry-disks.ts'
import type { EntryRow } from '../../../db/schema/migration.ts'
import { applyOverrides } from '../../../src/domain/inventory/overrides.ts'
import { batchConfig, batchDefaults } from '../../../src/domain/migration/batch-settings.ts'
import { ownerOfEntry } from '../../../src/migration/ownership.ts'
import { CpuPool } from '../../../workers/cpu-pool.ts'
import { createPlaceInstance } from '../../../workers/handlers/place-instance.ts'
import { atEnd } from '../../support/cleanup.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { instanceOf } from '../../support/inventory.ts'
import {
  createJourneyWorker,
  createJourneyWorld,
  entryOf,
  type JourneyWorld,
  sendTo,
} from '../../support/journeys.ts'
import { createLab } from '../../support/lab.ts'
import { createDatabase } from '../../support/postgres.ts'

const cpu = new CpuPool()
atEnd(() => cpu.close())
const { db } = await createDatabase()
const lab = await createLab()
const world = await createJourneyWorld(db, lab)
const worker = createJourneyWorker(db, [createPlaceInstance({ db, use: world.inventory.use, cpu })])

/** Puts every NIC on the shop's bridge, every disk on ceph. */
const fitting = `function placement(instance) {
  for (const disk of instance.disks) setPool(disk.key, 'ceph')
  for (const nic of instance.nics) setNetwork(nic.mac, 'bridge-shop', 'bridged', 10)
}`

const setBatch = async (
  given: { defaults?: Record<string, unknown>; config?: Record<string, unknown> },
  { batch, target }: JourneyWorld = world,
): Promise<void> => {
  const defaults = batchDefaults.parse({
    placement: { target: target.name, storage_pool: 'local' },
    ...given.defaults,
  })
  const config = batchConfig.parse(given.config ?? {})
  await db`update batch set defaults = ${JSON.stringify(defaults)}::text::jsonb,
    config = ${JSON.stringify(config)}::text::jsonb where id = ${batch.id}::uuid`
}

/** An entry that waits to be placed, as a batch's start makes it. */
const waitingEntry = async (
  ref: string,
  more: { attributes?: Record<string, string> } = {},
): Promise<string> => {
  const instance = await instanceOf(db, world.source.name, ref)
  const facts = applyOverrides(instance.facts, more.attributes ? { attributes: more.attributes } : {})
  const id = uuidv7()
  await db`delete from entry where instance_id = ${instance.id}::uuid`
  await db`
    insert into entry (id, batch_id, instance_id, source_id, state, reason, message, revision, facts, running)
    values (${id}::uuid, ${world.batch.id}::uuid, ${instance.id}::uuid, ${world.source.id}::uuid, 'waiting', 'waiting',
      'It waits to be placed.', ${instance.revision}, ${JSON.stringify(facts)}::text::jsonb, true)`
  return id
}

const sendPlace = async (id: string): Promise<string> => {
  const entry = await entryOf(db, id)
  return sendTo(world, id, 'place-instance', { instance_id: entry.instanceId, revision: entry.revision })
}

const place = async (id: string) => worker.finish(await sendPlace(id))

const oursOf = async (id: string): Promise<readonly string[]> => {
  const { json } = await world.to.call('POST /instances/find-owned', { owner: await ownerOfEntry(db, id) })
  return (json as { refs: string[] }).refs
}

const codesOf = (entry: EntryRow): string[] => entry.reasons.map(({ code }) => String(code))

test('an instance is placed by defaults and script, and its machine is made with its disks', async () => {
  await setBatch({ config: { placement_scriptlet: fitting } })
  const id = await waitingEntry('vm-103')
  const job = await place(id)
  expect(job).toMatchObject({ state: 'succeeded', result: { target: 'cloud', kept: false } })
  const entry = await entryOf(db, id)
  expect(entry).toMatchObject({
    state: 'idle',
    stage: 'background',
    jobId: null,
    tries: 0,
    targetId: world.target.id,
  })
  expect(await oursOf(id)).toEqual([entry.machineRef])
  const { json } = await world.to.call(`GET /instances/${entry.machineRef}`)
  const { facts } = json as {
    facts: {
      name: string
      power_state: string
      disks: { key: string; datastore: string }[]
      nics: { network: string }[]
    }
  }
  expect(facts).toMatchObject({ name: 'db-01', power_state: 'off' })
  expect(facts.disks.map(({ datastore }) => datastore)).toEqual(['ceph', 'ceph'])
  expect(facts.nics.map(({ network }) => network)).toEqual(['bridge-shop'])
  const disks = await listEntryDisks(db, id)
  expect(disks.map(({ disk, targetDisk, changeId }) => [disk, targetDisk, changeId])).toEqual(
    facts.disks.map(({ key }) => [key, key, null]),
  )
  expect(entry.placement).toMatchObject({
    target: 'cloud',
    why: expect.arrayContaining([
      { what: 'target', value: 'cloud', because: 'the defaults of the batch' },
      expect.objectContaining({ value: 'ceph', because: 'the placement script' }),
    ]),
  })
  expect(await checkInvariants(db)).toEqual([])
})

test('whatever keeps it from its place is listed whole, and it is looked at again later', async () => {
  await setBatch({
    defaults: { placement: { target: 'cloud', storage_pool: 'nowhere', target_project: 'none' } },
  })
  const id = await waitingEntry('vm-101')
  expect(await place(id)).toMatchObject({ state: 'succeeded', result: { log: [] } })
  const entry = await entryOf(db, id)
  expect(entry).toMatchObject({ state: 'blocked', jobId: null, tries: 1, placement: null, machineRef: null })
  expect(codesOf(entry)).toEqual(expect.arrayContaining(['project-absent', 'network-absent', 'pool-absent']))
  expect(entry.lookAt.getTime()).toBeGreaterThan(entry.updatedAt.getTime())
  expect(await oursOf(id)).toEqual([])
})
