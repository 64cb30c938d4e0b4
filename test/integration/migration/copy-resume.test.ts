import { expect, test } from 'vitest'
import { listEntryDisks } from '../../../db/queries/copies/entry-disks.ts'
import { deletePause, insertPause } from '../../../db/queries/fleet/pauses.ts'
import { ByteBudget } from '../../../src/migration/copy/byte-budget.ts'
import { extentBytes } from '../../../src/migration/copy/extent-map.ts'
import { PlatformError } from '../../../src/platforms/ports/platform-error.ts'
import { afterWrites, createCopyWorker } from '../../support/copy-worker.ts'
import {
  createEntryWorld,
  differences,
  entryOf,
  placeEntry,
  recordedOf,
  sendTo,
  setData,
  snapshotsOf,
} from '../../support/entry-world.ts'
import { createLab } from '../../support/lab.ts'
import { effectsOf, jobOf } from '../../support/ledger.ts'
import { createDatabase } from '../../support/postgres.ts'
import { until } from '../../support/wait.ts'

const MiB = 1024 ** 2
const { db } = await createDatabase()
const lab = await createLab()
const world = await createEntryWorld(db, lab)
const worker = createCopyWorker(world)

const away = new PlatformError({
  code: 'platform-unreachable',
  failure: 'unknown',
  message: 'The answer did not come.',
  remedy: 'Nothing to do.',
})

test('2 TiB with a few hundred MiB in it are copied within the budget of memory', async () => {
  await setData(lab, { machine: 'vm-105', key: '2001' }, [
    [0, 100 * MiB],
    [1024 ** 4 + 3 * MiB, 98 * MiB],
    [2 * 1024 ** 4 - MiB, MiB],
  ])
  const entry = await placeEntry(world, 'vm-105')
  const budget = new ByteBudget(6 * extentBytes)
  const small = createCopyWorker(world, undefined, budget)
  const job = await small.finish(await sendTo(world, entry.id, 'import-instance'))
  expect(job).toMatchObject({ state: 'succeeded' })
  const recorded = await recordedOf(db, entry.id, '2001')
  // 25 at the start, 98 MiB from 3 MiB into an extent on are 26, and the last one.
  expect(recorded.size).toBe(52)
  expect(budget.most).toBeLessThanOrEqual(6 * extentBytes)
  expect(await differences(world, await entryOf(db, entry.id))).toEqual([])
  expect(job.progress).toMatchObject({ phase: 'background-copy' })
  const { done, total } = job.progress as unknown as { done: number; total: number }
  expect(done).toBe(total)
})

// promise: copy-resumes
test('a copy that is stopped on the way, and cut at 99 %, sends at most 2 % again', async () => {
  await setData(lab, { machine: 'vm-101', key: '2000' }, [[0, 60 * extentBytes]])
  const entry = await placeEntry(world, 'vm-101')
  const lane = { scope: 'lane', name: `batch/${world.batch.name}` } as const
  let sent = 0
  const cut = async (writes: number) => {
    sent = writes
    if (writes === 10) {
      await db.begin((tx) => insertPause(tx, { ...lane, by: 'test', reason: 'stopped' }))
      // A copy looks at its lane twice a second: on a quick machine it would be over before the next look.
      const pausedMs = performance.now()
      await until(() => performance.now() - pausedMs > 600, { what: 'the next look at the lane to be due' })
    }
    if (writes >= 59 && writes < 63) throw away
  }
  const cutting = createCopyWorker(world, cut)
  const id = await sendTo(world, entry.id, 'import-instance')
  expect(await cutting.follow(id)).toMatchObject({ state: 'ready', attempt: 0, environmentAttempt: 0 })
  expect(sent).toBe(10)
  expect(await snapshotsOf(world, 'vm-101')).toHaveLength(1)
  await db.begin((tx) => deletePause(tx, lane, 'test'))
  expect(await cutting.follow(id)).toMatchObject({ state: 'ready', environmentAttempt: 1 })
  const cutAt = (await jobOf(db, id)).progress as { done: number; last_progress_at: string }
  const ended = await cutting.finish(id)
  expect(ended).toMatchObject({ state: 'succeeded', result: { cycle: 1, bytes: 60 * extentBytes } })
  expect(ended.progress).toMatchObject({ done: 60 * extentBytes, total: 60 * extentBytes })
  const { last_progress_at: last } = ended.progress as { last_progress_at: string }
  expect(Date.parse(last)).toBeGreaterThan(Date.parse(cutAt.last_progress_at))
  // One extent was written five times over: it is the one whose answer did not come.
  expect(sent).toBeLessThanOrEqual(60 + 4)
  expect(await differences(world, await entryOf(db, entry.id))).toEqual([])
})

test('a top-up sends what changed, and nothing when nothing did', async () => {
  const entry = await placeEntry(world, 'vm-102')
  const sync = async () => worker.finish(await sendTo(world, entry.id, 'import-instance'))
  const first = Number((await sync()).result?.bytes)
  expect(await sync()).toMatchObject({ state: 'succeeded', result: { cycle: 2, bytes: 0 } })
  await world.from.done('POST /instances/vm-102/power', { verb: 'stop' })
  const at = 5 * extentBytes + 100
  await world.from.call(`PUT /instances/vm-102/disks/2000/bytes?offset=${at}`, Buffer.alloc(1_000, 'new'))
  expect(await sync()).toMatchObject({ state: 'succeeded', result: { cycle: 3, bytes: extentBytes } })
  const after = await entryOf(db, entry.id)
  expect(await differences(world, after)).toEqual([])
  // What an entry shows between its copies is all of them.
  const all = first + extentBytes
  expect(after.progress).toMatchObject({ phase: 'copied', done: all, total: all })
})

test('a snapshot that somebody removes under a copy is made again, and the copy goes on', async () => {
  const entry = await placeEntry(world, 'vm-104')
  const remove = async () => {
    const { json } = await world.from.call('GET /instances/vm-104/snapshots')
    const [snapshot] = (json as { snapshots: { ref: string }[] }).snapshots
    await world.from.done(`DELETE /instances/vm-104/snapshots/${snapshot?.ref}`)
  }
  const meddled = createCopyWorker(world, afterWrites(1, remove))
  const job = await meddled.finish(await sendTo(world, entry.id, 'import-instance'))
  expect(job).toMatchObject({ state: 'succeeded', result: { cycle: 2 } })
  expect(await differences(world, await entryOf(db, entry.id))).toEqual([])
  expect(await snapshotsOf(world, 'vm-104')).toEqual([])
  expect((await effectsOf(db, job.id)).map(({ state }) => state)).toEqual(['undone', 'undone'])
})

test('what a given-up copy has written, and the source has emptied since, is emptied on the target too', async () => {
  const entry = await placeEntry(world, 'vm-209')
  await lab.admin('POST /lab/faults', {
    ...{ kind: 'error', call: 'write', site: 'cloud', skip: 1, times: 1 },
    ...{ code: 'platform-permission', failure: 'refused', after: true },
  })
  const failed = await worker.finish(await sendTo(world, entry.id, 'import-instance'))
  expect(failed).toMatchObject({ state: 'failed', error: { code: 'platform-permission' } })
  expect(await snapshotsOf(world, 'vm-209')).toEqual([])
  const [disk] = await listEntryDisks(db, entry.id)
  expect(disk?.cycle?.doubt).toContain(1)
  await world.from.done('POST /instances/vm-209/power', { verb: 'stop' })
  for (const at of [0, 1])
    await world.from.call(
      `PUT /instances/vm-209/disks/2000/bytes?offset=${at * extentBytes}`,
      Buffer.alloc(extentBytes),
    )
  await db`update entry set state = 'idle' where id = ${entry.id}::uuid`
  expect(await worker.finish(await sendTo(world, entry.id, 'import-instance'))).toMatchObject({
    state: 'succeeded',
  })
  expect(await differences(world, await entryOf(db, entry.id))).toEqual([])
})
