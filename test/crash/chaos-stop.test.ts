import { expect, test } from 'vitest'
import { cancelInTransaction } from '../../src/ledger/jobs/cancel.ts'
import { onEachBell } from '../support/bells.ts'
import { requestCancel } from '../support/ledger-verbs.ts'
import { addLoad, countStates } from '../support/load.ts'
import { expectAlive, startRoles } from '../support/roles.ts'
import { until } from '../support/wait.ts'

/** A second, and as much again as a shared machine may need. */
const cancelMs = 5_000

await onEachBell('a worker that is told something', (bell) => {
  const { db } = bell.database

  // promise: cancel-reaches
  test('a cancel reaches a running handler within about a second, also when its hint is lost', async () => {
    const { conductors, workers } = await startRoles(bell.env, { workers: 1 })
    const ids = await addLoad(db, { jobs: 4, steps: 600, stepMs: 100, effects: 1 })
    await until(async () => (await countStates(db, ids)).running === ids.length, {
      what: 'all to run',
      withinMs: 30_000,
    })
    const request = { by: 'test', reason: 'a test wants it' }
    for (const [at, id] of ids.entries()) {
      // Without its NOTIFY nothing but the worker's own look can find the request.
      const outcome =
        at % 2 === 0
          ? await requestCancel(db, id, request)
          : await db.begin((tx) => cancelInTransaction(tx, id, request))
      expect(outcome).toEqual({ outcome: 'requested', state: 'running' })
      await until(async () => (await countStates(db, [id])).canceled === 1, {
        what: 'the job to be canceled',
        withinMs: 30_000,
      })
    }
    const waits = await db<{ ms: number }[]>`
      select (extract(epoch from finished_at - cancel_requested_at) * 1000)::int as ms from job
      where id = any(${ids}::uuid[]) order by cancel_requested_at`
    console.info(
      `canceled after ${waits.map((wait) => wait.ms).join(', ')} ms (every second one without a hint)`,
    )
    expect(Math.max(...waits.map((wait) => wait.ms))).toBeLessThan(cancelMs)
    const left = await db`select 1 from self_test.marker where job_id = any(${ids}::uuid[])`
    expect(left, 'what canceled jobs left behind').toHaveLength(0)
    expectAlive(...conductors, ...workers)
  })
})
