import { v7 as uuidv7 } from 'uuid'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Tx } from '../../../db/client.ts'
import { actOnEntry } from '../../../src/migration/entry/entry-verbs.ts'
import { ownedMachines, ownSnapshots, provenAgainst } from '../../support/batch-world.ts'
import { checkEntries } from '../../support/copy-invariants.ts'
import { driveEntry, lookNow } from '../../support/drive-entry.ts'
import { entryOf, eventsOfEntry, overlapsOf, placeEntry, powerOf, sendTo } from '../../support/entry-world.ts'
import { createLab } from '../../support/lab.ts'
import { jobOf } from '../../support/ledger.ts'
import { createDatabase } from '../../support/postgres.ts'
import { createVerifyWorld } from '../../support/verify-world.ts'

const { db } = await createDatabase()
const lab = await createLab()
const world = await createVerifyWorld(db, lab)
const { from, to } = world

beforeEach(async () => {
  await lab.admin('DELETE /lab/faults')
  await db`delete from batch_window`
  await world.setBatch({ config: { post_migration_retries: 1 } })
})

const power = (ref: string, verb: 'start' | 'stop') => from.done(`POST /instances/${ref}/power`, { verb })

/** Beyond what the guest writes itself, where the source held nothing before. */
const late = 'written when nobody looked'
/** Starts it, and lets it write before it is off again. */
const runAndWrite = async (ref: string) => {
  await power(ref, 'start')
  await power(ref, 'stop')
  const path = `/instances/${ref}/disks/2000/bytes?offset=50331648`
  expect((await from.call(`PUT ${path}`, Buffer.from(late))).status).toBeLessThan(300)
}
const lateBytes = async (machine: string | null) => {
  const path = `/instances/${machine}/disks/2000/bytes?offset=50331648&length=${late.length}`
  return (await to.call(`GET ${path}`)).bytes.toString()
}

/** An entry that a test needs no longer goes with its copy: none is left that nobody accounts for. */
const takeAway = async (id: string) => {
  const { machineRef } = await entryOf(db, id)
  if (machineRef !== null) await to.call(`DELETE /instances/${machineRef}`)
  await db`delete from entry where id = ${id}::uuid`
}

const finished = async (id: string) => {
  const entry = await entryOf(db, id)
  expect(entry).toMatchObject({ state: 'finished', stage: 'complete' })
  expect(await powerOf(from, String(entry.facts.ref))).toBe('off')
  expect(await provenAgainst(world, entry)).toEqual([])
  expect(await ownSnapshots(world)).toEqual([])
  expect(await checkEntries(world)).toEqual([])
  return entry
}

const resolve = (id: string) =>
  db.begin((tx) => actOnEntry(tx as Tx, { id, by: 'test', verb: 'resolve', force: false, cleanup: false }))

describe('a source that ran while its copy was verified', () => {
  test.each([
    ['before its target was started', 'vm-101', 'owner', 'off'],
    ['while its target booted', 'vm-102', 'guest', 'on'],
  ] as const)('%s, and is off again: what it wrote is copied first', async (_when, ref, call, seen) => {
    const { id, machineRef } = await world.ready(ref)
    await lab.admin('POST /lab/faults', { kind: 'error', call, site: 'cloud', machine: machineRef })
    const job = await sendTo(world, id, 'final-verify')
    await world.worker.follow(job)
    expect(await powerOf(to, machineRef ?? '')).toBe(seen)
    await runAndWrite(ref)
    await lab.admin('DELETE /lab/faults')
    await world.worker.finish(job)
    expect(await entryOf(db, id)).toMatchObject({
      state: 'final-import',
      stage: 'final',
      reason: 'copy-stale',
    })
    expect(await powerOf(to, machineRef ?? '')).toBe('off')
    await driveEntry(world, id, ['finished', 'error', 'conflict'])
    // Two ran side by side because this test let them.
    await lab.database.db`delete from lab.power_log where machine in (${ref}, ${machineRef})`
    await finished(id)
    expect(await lateBytes(machineRef)).toBe(late)
  })
})

describe('an entry whose target did not start as often as the batch allows', () => {
  test.each([
    ['by its window, which is over', 'vm-103'],
    ['by somebody', 'vm-104'],
  ] as const)('and whose source is started %s: no resolve without a new final import', async (how, ref) => {
    const { id, machineRef } = await world.ready(ref)
    const refuse = { kind: 'error', call: 'start', site: 'cloud', machine: machineRef }
    await lab.admin('POST /lab/faults', { ...refuse, code: 'platform-refused', failure: 'refused' })
    await driveEntry(world, id, ['conflict'])
    expect(await entryOf(db, id)).toMatchObject({ stage: 'complete', reason: 'target-start-failed' })
    await lab.admin('DELETE /lab/faults')
    if (how !== 'by somebody') {
      await holdWindow(id, -1)
      await lookNow(world)
      await driveEntry(world, id, ['conflict'])
      await db`delete from batch_window`
      expect(await entryOf(db, id)).toMatchObject({ stage: 'final', sourceStoppedAt: null })
      expect(await powerOf(from, ref)).toBe('on')
      await power(ref, 'stop')
    }
    await runAndWrite(ref)
    await power(ref, 'start')
    await resolve(id)
    await driveEntry(world, id, ['finished', 'error', 'conflict'])
    await finished(id)
    expect(await lateBytes(machineRef)).toBe(late)
    expect(await overlapsOf(lab)).toEqual([])
  })
})

/** A window of the batch that the entry holds, and that ends in so many seconds. */
const holdWindow = async (id: string, endsInSeconds: number) => {
  const window = uuidv7()
  await db`insert into batch_window (id, batch_id, name, starts_at, ends_at)
    values (${window}::uuid, ${world.batch.id}::uuid, ${`night-${window}`}, now() - interval '1 hour',
      now() + ${endsInSeconds}::int * interval '1 second')`
  await db`update entry set window_id = ${window}::uuid where id = ${id}::uuid`
}

const endWindows = async () => {
  await db`update batch_window set ends_at = now() - interval '1 second'`
  await lookNow(world)
}

describe('a window that ends', () => {
  afterEach(() => db`delete from batch_window`)

  test.each([
    ['is over', 'vm-111', { ends_at: -1 }],
    ['is too short by now', 'vm-108', { ends_at: 30 }],
  ] as const)('and that %s when its turn comes: its source is not touched', async (_how, ref, edges) => {
    const { id } = await placeEntry(world, ref)
    await holdWindow(id, 3_600)
    const job = await sendTo(world, id, 'cutover-instance')
    for (const [edge, seconds] of Object.entries(edges))
      await db`update batch_window set ${db(edge)} = now() + ${seconds}::int * interval '1 second'`
    expect(await world.worker.finish(job)).toMatchObject({ result: { ended: 'not-begun' } })
    expect(await entryOf(db, id)).toMatchObject({ state: 'idle', windowId: null, sourceStoppedAt: null })
    expect(await powerOf(from, ref)).toBe('on')
    await lookNow(world)
    expect((await entryOf(db, id)).state).toBe('idle')
  })

  test('and that is locked when its turn comes: who was given it before goes on, and nobody else gets it', async () => {
    const { id } = await placeEntry(world, 'vm-107')
    const late = await placeEntry(world, 'vm-105')
    await db`update entry set stage = 'final', synced_at = now()`
    await holdWindow(id, 3_600)
    const job = await sendTo(world, id, 'cutover-instance')
    await db`update batch_window set lockout_at = now() - interval '1 second'`
    await lookNow(world)
    expect(await entryOf(db, id)).toMatchObject({ state: 'idle', jobId: job, reason: 'working' })
    expect(await entryOf(db, late.id)).toMatchObject({ jobId: null, windowId: null, reason: 'no-window' })
    await world.worker.finish(job)
    expect(await entryOf(db, id)).toMatchObject({ state: 'worker-done' })
    expect(await powerOf(from, 'vm-107')).toBe('off')
    expect(await powerOf(from, 'vm-105')).toBe('on')
    for (const one of [id, late.id]) await takeAway(one)
  })

  test('has room again when an entry that was given it, and had not begun, is given up', async () => {
    const { id } = await placeEntry(world, 'vm-201')
    await holdWindow(id, 3_600)
    await sendTo(world, id, 'cutover-instance')
    await db.begin((tx) =>
      actOnEntry(tx as Tx, { id, by: 'test', verb: 'cancel', force: false, cleanup: true }),
    )
    await driveEntry(world, id, ['canceled'])
    expect(await entryOf(db, id)).toMatchObject({ windowId: null, constraintName: null })
    await takeAway(id)
  })

  test('during the final import: the source runs again, and the entry waits with what it has', async () => {
    const { id, machineRef } = await placeEntry(world, 'vm-106')
    await holdWindow(id, 3_600)
    await lab.admin('POST /lab/faults', { kind: 'error', call: 'write', site: 'cloud', machine: machineRef })
    const job = await sendTo(world, id, 'cutover-instance')
    await world.worker.follow(job)
    expect(await entryOf(db, id)).toMatchObject({ state: 'final-import' })
    expect(await powerOf(from, 'vm-106')).toBe('off')
    await endWindows()
    await world.worker.finish(job)
    expect(await jobOf(db, job)).toMatchObject({ state: 'canceled' })
    await driveEntry(world, id, ['idle'])
    expect(await entryOf(db, id)).toMatchObject({
      stage: 'final',
      windowId: null,
      sourceStoppedAt: null,
      machineRef,
    })
    expect(await powerOf(from, 'vm-106')).toBe('on')
    expect(await powerOf(to, machineRef ?? '')).toBe('off')
    expect(await ownSnapshots(world)).toEqual([])
    expect(await checkEntries(world)).toEqual([])
  })

  test('during the post-import: the source runs again, the target is gone, and all begins anew', async () => {
    const { id, machineRef } = await placeEntry(world, 'vm-109')
    await holdWindow(id, 3_600)
    await lab.admin('POST /lab/faults', {
      kind: 'error',
      call: 'reconfigure',
      site: 'cloud',
      machine: machineRef,
    })
    const job = await sendTo(world, id, 'cutover-instance')
    await world.worker.follow(job)
    expect(await entryOf(db, id)).toMatchObject({ state: 'post-import', stage: 'complete' })
    await endWindows()
    await world.worker.finish(job)
    await lookNow(world)
    await driveEntry(world, id, ['waiting'])
    expect(await entryOf(db, id)).toMatchObject({
      stage: 'background',
      sourceStoppedAt: null,
      machineRef: null,
    })
    expect(await powerOf(from, 'vm-109')).toBe('on')
    expect(await ownedMachines(world)).not.toContain(machineRef)
    expect((await eventsOfEntry(db, id)).slice(-2)).toEqual(['entry.let-go', 'entry.withdrawn'])
    expect(await overlapsOf(lab)).toEqual([])
    expect(await checkEntries(world)).toEqual([])
  })
})

test('a whole copy that is only fitted takes no room of those that copy', async () => {
  const { id } = await world.ready('vm-211')
  await db`update entry set state = 'idle', job_id = null where id = ${id}::uuid`
  await lookNow(world)
  const { jobId } = await entryOf(db, id)
  const tokens = ['source/vc', 'target/cloud']
  expect(await jobOf(db, jobId ?? '')).toMatchObject({ kind: 'cutover-instance', tokens })
  await takeAway(id)
})

const wish = (id: string) => db`
  update entry set intent = ${JSON.stringify({ verb: 'reset', force: true })}::text::jsonb where id = ${id}::uuid`

test('a cutover that waits for its turn when its batch is reset does not begin', async () => {
  const { id } = await placeEntry(world, 'vm-112')
  await power('vm-112', 'start')
  const job = await sendTo(world, id, 'cutover-instance')
  await wish(id)
  expect(await world.worker.finish(job)).toMatchObject({ result: { ended: 'not-begun' } })
  expect(await powerOf(from, 'vm-112')).toBe('on')
  await takeAway(id)
})

test('a wish that was written down while a job moves the entry outlives what the job does', async () => {
  const { id, machineRef } = await placeEntry(world, 'vm-110')
  const job = await sendTo(world, id, 'cutover-instance')
  await lab.admin('POST /lab/faults', { kind: 'error', call: 'write', site: 'cloud', machine: machineRef })
  await world.worker.follow(job)
  await wish(id)
  await lab.admin('DELETE /lab/faults')
  await world.worker.finish(job)
  expect(await entryOf(db, id)).toMatchObject({ state: 'worker-done', intent: { verb: 'reset' } })
  for (let turns = 0; turns < 10; turns += 1) {
    await lookNow(world)
    const [entry] = await db<{ jobId: string | null }[]>`select job_id from entry where id = ${id}::uuid`
    if (!entry) break
    if (entry.jobId !== null) await world.worker.finish(entry.jobId)
  }
  expect(await db`select 1 from entry where id = ${id}::uuid`).toEqual([])
  expect(await powerOf(from, 'vm-110')).toBe('on')
})
