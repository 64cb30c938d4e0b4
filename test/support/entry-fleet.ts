import { expect } from 'vitest'
import type { JobRow } from '../../db/schema/job.ts'
import { nudge } from '../../src/ledger/jobs/nudge.ts'
import { createSealer } from '../../src/seal/seal.ts'
import { createEntryWorld, type EntryWorld, overlapsOf, powerOf, sendTo } from './entry-world.ts'
import { type Armed, ending, type Fleet } from './fleet.ts'
import { checkInvariants } from './invariants.ts'
import type { TestLab } from './lab.ts'
import { jobOf } from './ledger.ts'

/** The key of the processes of a fleet. */
const sealer = createSealer('5e'.repeat(32))

/** A world of journeys for a fleet, in which only what a test sends is done. */
export const createFleetWorld = async (fleet: Fleet, lab: TestLab): Promise<EntryWorld> => {
  const world = await createEntryWorld(fleet.db, lab, { sealer })
  await fleet.db`update batch set state = 'stopped'`
  return world
}

/** Kills a worker at a point of a job, and lets another one go on to its end. */
export const survive = async (
  fleet: Fleet,
  world: EntryWorld,
  job: {
    readonly entryId: string
    readonly kind: 'import-instance' | 'cutover-instance'
    readonly armed: Armed
  },
): Promise<JobRow> => {
  const dying = await fleet.worker(job.armed)
  const id = await sendTo(world, job.entryId, job.kind)
  nudge(fleet.db)
  expect((await ending(dying)).signal).toBe('SIGKILL')
  await fleet.worker()
  await fleet.ended([id])
  return jobOf(fleet.db, id)
}

/** Machines on the target that are an entry's. */
export const ownedBy = async ({ to }: EntryWorld, entryId: string): Promise<string[]> => {
  const { json } = await to.call('POST /instances/find-owned', { owner: { 'drover.entry': entryId } })
  return (json as { refs: string[] }).refs
}

/** Withdraws an entry, and proves that nothing of it is left and that no two copies ever ran. */
export const cleanUp = async (
  fleet: Fleet,
  world: EntryWorld,
  entry: { readonly id: string; readonly ref: string },
): Promise<void> => {
  const id = await sendTo(world, entry.id, 'withdraw-entry', { source: 'start', target: 'destroy' })
  nudge(fleet.db)
  await fleet.ended([id])
  expect(await jobOf(fleet.db, id)).toMatchObject({ state: 'succeeded' })
  expect(await powerOf(world.from, entry.ref)).toBe('on')
  expect(await ownedBy(world, entry.id)).toEqual([])
  expect(await overlapsOf(world.lab)).toEqual([])
  await fleet.db`delete from entry where id = ${entry.id}::uuid`
  expect(await checkInvariants(fleet.db)).toEqual([])
}
