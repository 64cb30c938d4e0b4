import { beforeAll, expect, test } from 'vitest'
import { createSealer } from '../../src/seal/seal.ts'
import { makeBatch, onShop, ownedMachines, provenAgainst, type TestBatch } from '../support/batch-world.ts'
import { dieAndReturn, dies, expectClean, hurryUntil, settles } from '../support/chaos-batch.ts'
import { createEntryWorld, type EntryWorld, powerOf } from '../support/entry-world.ts'
import { type Armed, type Fleet, onEachFleet } from '../support/fleet.ts'
import { createLab } from '../support/lab.ts'
import { until } from '../support/wait.ts'

const sealer = createSealer('5e'.repeat(32))
/** One for each fleet: its sources do not come back. */
const labs = { postgres: await createLab(), redis: await createLab() }

/** Lands elsewhere as soon as somebody writes so in its description. */
const script = `${onShop.slice(0, -1)}
  if (instance.description === 'elsewhere') setProject('shop')
}`

const conflicting = 'vm-104'
const finishing = ['vm-101', 'vm-102', 'vm-103', 'vm-112', 'vm-209']
const canceled = 'vm-106'
const cleaned = 'vm-109'
const resetting = ['vm-110', 'vm-111', 'vm-210']

/**
 * Where workers die, two at a time, while there is work: other points on each bell. Four in all, because a job whose
 * worker vanishes five times is given up as the cause of it.
 */
const deaths: Readonly<Record<Fleet['bell'], readonly (readonly Armed[])[]>> = {
  postgres: [
    ['kill:after-extent@3', 'kill:before-finish@3'],
    ['kill:after-effect@3', 'kill:before-undo@2'],
  ],
  redis: [
    ['kill:after-intent@2', 'kill:after-checkpoint@4'],
    ['kill:before-effect@4', 'kill:after-undo@2'],
  ],
}

const changes = ['write', 'snapshot-create', 'create', 'start', 'stop', 'shutdown', 'reconfigure', 'destroy']

/** What goes wrong at both ends meanwhile; which calls it strikes follows from the seeds. */
const faults = [
  { kind: 'lost-answer', probability: 0.06, seed: 11, times: 12, call: changes },
  {
    kind: 'error',
    probability: 0.03,
    seed: 12,
    times: 12,
    code: 'platform-unreachable',
    failure: 'transient',
  },
  { kind: 'delay', probability: 0.1, seed: 13, ms: 40 },
]

const describe = ({ lab }: EntryWorld, description: string) =>
  lab.admin(`PATCH /lab/sites/vcenter/instances/${conflicting}`, { facts: { description } })

/** Two are given up, all are stopped and started again, and one is in conflict until a person has mended it. */
const liveThrough = async (world: EntryWorld, batch: TestBatch): Promise<void> => {
  const { db } = world
  for (const ref of [canceled, cleaned])
    await until(async () => (await batch.entry(ref)).machineRef !== null, {
      what: `${ref} to be on its target`,
      withinMs: 60_000,
    })
  await batch.act(canceled, 'cancel', { force: true })
  await batch.act(cleaned, 'cancel', { force: true, cleanup: true })
  await batch.stop()
  await hurryUntil(world, 'the batch to stand still', async () => {
    const running = await db`select from job where state = 'running' and lane = ${`batch/${batch.name}`}`
    return running.length === 0
  })
  await batch.start()
  const ends = Object.fromEntries(finishing.map((ref) => [ref, 'finished']))
  const givenUp = { [canceled]: 'canceled', [cleaned]: 'canceled' }
  await settles(world, batch, { ...ends, ...givenUp, [conflicting]: 'conflict' })
  // With nothing changed it conflicts again.
  await batch.act(conflicting, 'resolve')
  await settles(world, batch, { [conflicting]: 'conflict' })
  await describe(world, 'as it was')
  await batch.act(conflicting, 'resolve')
  await settles(world, batch, { [conflicting]: 'finished' })
}

const expectEnds = async (world: EntryWorld, batch: TestBatch): Promise<void> => {
  const { from, to } = world
  const entries = await batch.entries()
  for (const entry of entries.filter(({ state }) => state === 'finished')) {
    expect(await powerOf(from, String(entry.facts.ref))).toBe('off')
    expect(await powerOf(to, entry.machineRef ?? '')).toBe(entry.running ? 'on' : 'off')
    expect(await provenAgainst(world, entry)).toEqual([])
  }
  for (const ref of [canceled, cleaned]) expect(await powerOf(from, ref)).toBe('on')
  const kept = await batch.entry(canceled)
  expect(await powerOf(to, kept.machineRef ?? '')).toBe('off')
  expect((await batch.entry(cleaned)).machineRef).toBeNull()
  const machines = entries.flatMap(({ machineRef }) => machineRef ?? [])
  expect(machines).toHaveLength(finishing.length + 2)
  expect(await ownedMachines(world)).toEqual(machines.sort())
}

const entryWork = async (fleet: Fleet, world: EntryWorld, hands: readonly (readonly Armed[])[]) => {
  const { lab } = world
  const assigning = await fleet.worker()
  const refs = [...finishing, conflicting, canceled, cleaned]
  const batch = await makeBatch(world, { name: 'wave-1', refs, script })
  await assigning.crash()
  for (const fault of faults) await lab.admin('POST /lab/faults', fault)
  // These two are given up before they come far.
  for (const machine of [canceled, cleaned])
    await lab.admin('POST /lab/faults', { kind: 'delay', ms: 20_000, call: 'read', machine })
  // Nobody reads the source again before the final verification: that is who finds out.
  await describe(world, 'elsewhere')
  await batch.start()
  let enough = false
  const dying = dieAndReturn(fleet, hands, () => enough)
  try {
    await liveThrough(world, batch)
  } finally {
    enough = true
    await dying
  }
  await lab.admin('DELETE /lab/faults')
  await expectClean(world)
  await expectEnds(world, batch)
}

const resetMidway = async (fleet: Fleet, world: EntryWorld) => {
  const { lab } = world
  const before = await ownedMachines(world)
  await fleet.worker('kill:after-effect@6')
  const batch = await makeBatch(world, { name: 'wave-2', refs: resetting })
  await lab.admin('POST /lab/faults', { kind: 'delay', ms: 400, site: 'cloud', call: 'write' })
  await lab.admin('POST /lab/faults', { ...faults[0], probability: 0.2, seed: 21, times: 5 })
  // However quick the machine: with its source off, none comes to its end before the reset.
  await lab.admin('POST /lab/faults', { kind: 'stall', site: 'cloud', call: ['reconfigure', 'start'] })
  await batch.start()
  await hurryUntil(world, 'a source to be switched off', async () =>
    (await batch.entries()).some(({ sourceStoppedAt }) => sourceStoppedAt !== null),
  )
  const dying = await fleet.worker('kill:after-undo')
  await batch.reset()
  await dies(dying)
  await fleet.worker()
  await hurryUntil(world, 'all entries to be gone', async () => (await batch.entries()).length === 0)
  await lab.admin('DELETE /lab/faults')
  // A guest that has not heard yet may still go down: that is owed until it runs anew, which ends it at once.
  for (const ref of resetting) await world.from.call(`POST /instances/${ref}/power`, { verb: 'restart' })
  await expectClean(world)
  for (const ref of resetting) expect(await powerOf(world.from, ref)).toBe('on')
  expect(await ownedMachines(world)).toEqual(before)
}

const title = 'a batch whose workers are killed and whose platforms lose answers'

// A worker that a busy machine keeps from its heartbeat is one more that vanished: four deaths leave room for none.
const leaseMs = 6_000

await onEachFleet(title, { workers: 0, leaseMs, anyBell: true }, (fleet) => {
  let world: EntryWorld
  beforeAll(async () => {
    world = await createEntryWorld(fleet.db, labs[fleet.bell], { sealer })
  })

  // promise: whole-batch
  test('ends as it would have, with every byte, and leaves nothing', { timeout: 900_000 }, () =>
    entryWork(fleet, world, deaths[fleet.bell]),
  )

  // promise: whole-batch
  test('and one that is reset with force midway is as if it had never been', { timeout: 900_000 }, () =>
    resetMidway(fleet, world),
  )
})
