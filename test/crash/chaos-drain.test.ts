import { expect, test } from 'vitest'
import { onEachBell } from '../support/bells.ts'
import { addLoad, allEnded, countStates, expectWhole, someDone } from '../support/load.ts'
import { expectAlive, startRoles, startWorker } from '../support/roles.ts'
import { until } from '../support/wait.ts'

await onEachBell('a worker that is told to stop', (bell) => {
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
    })
    const exit = leaving.stop()
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
})
