import { expect, test } from 'vitest'
import { cancelInTransaction } from '../../src/ledger/jobs/cancel.ts'
import { onEachBell } from '../support/bells.ts'
import { requestCancel } from '../support/ledger-verbs.ts'
import { addLoad, allEnded, countStates, expectWhole, someDone } from '../support/load.ts'
import { expectAlive, startRoles, startWorker } from '../support/roles.ts'
import { until } from '../support/wait.ts'

/** A second, and as much again as a shared machine may need. */
const cancelMs = 5_000

await onEachBell('a worker that is told something', (bell) => {
  const { db } = bell.database

  // promise: drain
  test('SIGTERM under load: exit code 0, what it ran is released uncharged and ends elsewhere', async () => {
    const { conductors, workers } = await startRoles(bell.env, { workers: 1 })
    const [leaving] = workers
    if (!leaving) throw new Error('No worker was started.')
    const short = await addLoad(db, { jobs: 24, steps: 5, stepMs: 100, effects: 1 })
    // Long enough that none is at its end when it is first seen to run: there is something to release.
    const long = await addLoad(db, { jobs: 16, steps: 100, stepMs: 100, effects: 1 })
    const ids = [...short, ...long]
    await someDone(db, short, 1)
    await until(async () => ((await countStates(db, long)).running ?? 0) >= 8, {
      what: 'long jobs to run',
      withinMs: 30_000,
    })
    const exit = leaving.stop(40_000)
    const staying = await startWorker(bell.env)
    expect(await exit).toEqual({ code: 0, signal: null })
    await allEnded(db, ids)
    await expectWhole(db, ids, 1)
    const [turns] = await db<{ released: number; lost: number; charged: number }[]>`
      select (select count(*)::int from event where type = 'job.released' and job_id = any(${ids}::uuid[])) as released,
        (select count(*)::int from event where type = 'job.lost' and job_id = any(${ids}::uuid[])) as lost,
        (select count(*)::int from job where id = any(${ids}::uuid[]) and attempt + environment_attempt + lost > 0) as charged`
    expect(turns?.released).toBeGreaterThan(0)
    expect(turns).toMatchObject({ lost: 0, charged: 0 })
    const [row] = await db`select state from worker where pid = ${leaving.pid}`
    expect(row?.state).toBe('stopped')
    expectAlive(staying, ...conductors)
    await Promise.all([staying.stop(), ...conductors.map((conductor) => conductor.stop())])
  })

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
