import { expect, test } from 'vitest'
import type { EffectRow } from '../../db/schema/effect.ts'
import type { JobRow } from '../../db/schema/job.ts'
import { type Fleet, onEachFleet } from '../support/fleet.ts'
import { checkInvariants } from '../support/invariants.ts'
import { expectWhole } from '../support/load.ts'
import type { TestProcess } from '../support/processes.ts'
import { expectAlive } from '../support/roles.ts'
import { until } from '../support/wait.ts'

/** All that the ledger and the world outside know of these jobs, to the last field. */
const everything = async (fleet: Fleet, ids: readonly string[]) => {
  const jobs = [...ids]
  return {
    jobs: await fleet.db<JobRow[]>`select * from job where id = any(${jobs}::uuid[]) order by id`,
    effects: await fleet.db<
      EffectRow[]
    >`select * from effect where job_id = any(${jobs}::uuid[]) order by id`,
    events: await fleet.db`select * from event where job_id = any(${jobs}::uuid[]) order by xid, id`,
    calls: await fleet.db`select * from self_test.call where job_id = any(${jobs}::uuid[]) order by id`,
    markers: await fleet.db`select * from self_test.marker where job_id = any(${jobs}::uuid[]) order by name`,
  }
}

/** The worker's id in the ledger, by which it signs. */
const signature = async (fleet: Fleet, worker: TestProcess): Promise<string> => {
  const [row] = await fleet.db<{ id: string }[]>`
    select id from worker where pid = ${worker.pid} order by started_at desc limit 1`
  return row?.id ?? ''
}

/** It says so itself, and then has done with the job whatever it wanted to. */
const awake = async (zombie: TestProcess, jobs: number) => {
  zombie.resume()
  await until(() => zombie.lines.filter((line) => line.includes('the outcome was refused')).length >= jobs, {
    what: 'the zombie to notice that it is one',
    withinMs: 60_000,
  })
}

/** What the zombie may not have done after somebody else took its jobs over. */
const expectSilent = async (fleet: Fleet, zombie: TestProcess, id: string) => {
  const worker = await signature(fleet, zombie)
  const late = await fleet.db`
    with taken as (select min(at) as at from event where job_id = ${id}::uuid and type = 'job.lost')
    select type as what from event, taken
      where job_id = ${id}::uuid and actor = ${`worker/${worker}`} and event.at >= taken.at
    union all select action from self_test.call, taken
      where job_id = ${id}::uuid and pid = ${zombie.pid} and call.at >= taken.at
    union all select 'field' from job where id = ${id}::uuid and (worker_id = ${worker}::uuid or lease_epoch < 2)
    union all select 'effect' from effect, taken
      where job_id = ${id}::uuid and epoch < 2 and state in ('intended', 'done') and updated_at >= taken.at`
  expect(late).toEqual([])
  expect(await checkInvariants(fleet.db)).toEqual([])
}

await onEachFleet('SIGSTOP of a worker past its lease', { workers: 0 }, (fleet) => {
  // promise: frozen-worker
  test.each(
    fleet.share([
      'before-intent',
      'mid-intent',
      'after-intent',
      'before-effect',
      'after-effect',
      'before-checkpoint',
      'before-finish',
    ] as const),
  )('at %s: another one finishes, and the zombie writes nothing and serves on', async (point) => {
    const zombie = await fleet.worker(`stop:${point}`)
    const [id = ''] = await fleet.add(1, { effects: 2 })
    await zombie.frozen()
    const other = await fleet.worker()
    await fleet.ended([id])
    const before = await everything(fleet, [id])
    await awake(zombie, 1)
    expect(await everything(fleet, [id])).toEqual(before)
    await expectSilent(fleet, zombie, id)
    await expectWhole(fleet.db, [id], 2)
    await other.stop()
    const more = await fleet.add(3, { effects: 1 })
    await fleet.ended(more)
    await expectWhole(fleet.db, more, 1)
    expectAlive(zombie)
  })

  // promise: frozen-worker
  test.each(fleet.share(['before-undo', 'after-undo'] as const))(
    'at %s of a failure: what another one undid stays as that one left it',
    async (point) => {
      const zombie = await fleet.worker(`stop:${point}`)
      const [id = ''] = await fleet.add(1, { effects: 2, outcome: 'fail' })
      await zombie.frozen()
      const other = await fleet.worker()
      await fleet.ended([id])
      const before = await everything(fleet, [id])
      await awake(zombie, 1)
      expect(await everything(fleet, [id])).toEqual(before)
      expect(before.jobs.map((job) => job.state)).toEqual(['failed'])
      expect(before.effects.map((effect) => effect.state)).toEqual(['undone', 'undone'])
      await expectSilent(fleet, zombie, id)
      await other.stop()
      expectAlive(zombie)
    },
  )

  // promise: frozen-worker
  test('at no point in particular: the lease goes, the handler is stopped and nothing is written', async () => {
    const zombie = await fleet.worker()
    const ids = await fleet.add(2, { effects: 2, steps: 1, step_ms: 6_000 })
    await until(
      async () => {
        const half =
          await fleet.db`select from job where (checkpoint->>'effects')::int = 2 and state = 'running'`
        return half.length === ids.length
      },
      { what: 'both jobs to be half done', withinMs: 60_000 },
    )
    zombie.suspend()
    const other = await fleet.worker()
    await fleet.ended(ids)
    const before = await everything(fleet, ids)
    await awake(zombie, ids.length)
    expect(await everything(fleet, ids)).toEqual(before)
    for (const id of ids) await expectSilent(fleet, zombie, id)
    await expectWhole(fleet.db, ids, 2)
    await other.stop()
    expectAlive(zombie)
  })
})

const conducted = { workers: 1, conductors: 0, leaseMs: 5_000 }

await onEachFleet('SIGSTOP of the leading conductor', conducted, (fleet) => {
  test('between publish and mark: another one leads, and the late mark changes nothing', async () => {
    const zombie = await fleet.conductor('stop:relay-between-publish-and-mark')
    await zombie.line('this conductor leads')
    const standBy = await fleet.conductor()
    const ids = await fleet.add(6, { effects: 1 })
    await zombie.frozen()
    const more = await fleet.add(6, { effects: 1 })
    await standBy.line('this conductor leads', { withinMs: 60_000 })
    await fleet.ended([...ids, ...more])
    const seen = zombie.lines.length
    zombie.resume()
    await zombie.line('this conductor no longer leads', { withinMs: 60_000, from: seen })
    const last = await fleet.add(6, { effects: 1 })
    await fleet.ended(last)
    await expectWhole(fleet.db, [...ids, ...more, ...last], 1)
    const again = await fleet.db`select id from job where lease_epoch <> 1`
    expect(again).toEqual([])
    expectAlive(zombie, standBy)
  })
})
