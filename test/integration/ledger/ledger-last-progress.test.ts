import { expect, test } from 'vitest'
import { sweepLeases } from '../../../src/ledger/conductor/sweeps.ts'
import { done } from '../../../src/ledger/job.ts'
import { addOne, contextOf, createWorker, expire, jobOf, makeDue, mustClaim } from '../../support/ledger.ts'
import { createDatabase } from '../../support/postgres.ts'
import { until } from '../../support/wait.ts'

const { db } = await createDatabase()

/** A try of a job, whose progress is written down as its heartbeat does. */
const tryOf = async (id: string) => {
  await makeDue(db, id)
  const ctx = contextOf(db, await mustClaim(db, id))
  const { keeper } = createWorker(db, () => Promise.resolve(done()))
  keeper.keep(ctx, performance.now())
  return async (progress: Parameters<typeof ctx.progress>[0]) => {
    ctx.progress(progress)
    await keeper.beat()
    return (await jobOf(db, id)).progress as { done: number; rate?: number; last_progress_at?: string }
  }
}
const phase = 'copy'

test('when a job last came further and how fast is kept over its tries; what lay there is no progress', async () => {
  const id = await addOne(db)
  const tell = await tryOf(id)
  expect((await tell({ done: 0, total: 10, phase })).last_progress_at).toBeUndefined()
  const first = await tell({ done: 5, total: 10, phase, rate: 3 })
  const [clock] = await db<{ within: boolean }[]>`
    select ${first.last_progress_at ?? null}::timestamptz between claimed_at and clock_timestamp() as within
    from job where id = ${id}::uuid`
  expect(clock?.within).toBe(true)
  expect(await tell({ done: 5, total: 10, phase })).toEqual(first)

  await expire(db, id)
  await sweepLeases(db)
  const resumed = await tryOf(id)
  expect(await resumed({ done: 5, total: 10, phase })).toEqual(first)
  const further = await resumed({ done: 6, total: 10, phase })
  expect(Date.parse(further.last_progress_at ?? '')).toBeGreaterThan(Date.parse(first.last_progress_at ?? ''))
  expect(further.rate).toBe(3)
})

test('work that begins anew comes further, although it shows no less than before', async () => {
  const tell = await tryOf(await addOne(db))
  const before = await tell({ done: 8, total: 10, phase })
  const told = performance.now()
  await until(() => performance.now() > told + 5, { what: 'the clock to go on' })
  await tell({ done: 0, total: 4, phase })
  const anew = await tell({ done: 1, total: 4, phase })
  expect(anew.done).toBe(8)
  expect(Date.parse(anew.last_progress_at ?? '')).toBeGreaterThan(Date.parse(before.last_progress_at ?? ''))
})
