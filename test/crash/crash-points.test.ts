import { expect, test } from 'vitest'
import type { CrashPoint } from '../../src/crash-point.ts'
import { ending, type Fleet, onEachFleet } from '../support/fleet.ts'
import { checkInvariants } from '../support/invariants.ts'
import { requestCancel } from '../support/ledger-verbs.ts'
import { expectWhole } from '../support/load.ts'
import { until } from '../support/wait.ts'

/** Each point a worker passes on the way of a plain job, and the pass on which it dies there. */
const points: readonly (readonly [CrashPoint, number])[] = [
  ['before-claim', 1],
  ['after-claim', 2],
  ['before-intent', 2],
  ['mid-intent', 2],
  ['after-intent', 2],
  ['before-effect', 1],
  ['after-effect', 2],
  ['before-checkpoint', 2],
  ['after-checkpoint', 3],
  ['before-finish', 1],
  ['after-finish', 2],
  ['before-ack', 1],
  ['after-ack', 2],
]

const work = { effects: 2, steps: 2, step_ms: 60 }

/** Every hand of both workers holds a job whose effects are made. */
const bothAreBusy = (fleet: Fleet, effects: number) =>
  until(
    async () => {
      const busy = await fleet.db`
        select from job where state = 'running' and (checkpoint->>'effects')::int = ${effects}`
      return busy.length === 4
    },
    { what: 'both workers to be busy', withinMs: 60_000 },
  )

const expectUndone = async (fleet: Fleet, ids: readonly string[], state: string) => {
  const states = await fleet.db<{ state: string }[]>`
    select distinct state from job where id = any(${[...ids]}::uuid[])`
  expect(states).toEqual([{ state }])
  const left = await fleet.db`
    select name from self_test.marker where job_id = any(${[...ids]}::uuid[])
    union all select name from effect where job_id = any(${[...ids]}::uuid[]) and state <> 'undone'`
  expect(left).toEqual([])
  expect(await checkInvariants(fleet.db)).toEqual([])
}

await onEachFleet('kill -9 of a worker', { workers: 1 }, (fleet) => {
  // promise: killed-worker
  test.each(fleet.share(points))(
    'at %s (pass %i): no job is lost and no effect repeated',
    async (point, pass) => {
      const armed = await fleet.worker(`kill:${point}@${pass}`)
      const { exit, ids } = await fleet.feed(armed, 12, work)
      expect(exit).toEqual({ code: null, signal: 'SIGKILL' })
      await fleet.ended(ids)
      await expectWhole(fleet.db, ids, work.effects)
    },
  )

  // promise: killed-worker
  test('while a wait begins: the job waits once, and goes on', async () => {
    const armed = await fleet.worker('kill:after-finish')
    const { exit, ids } = await fleet.feed(armed, 6, { effects: 1, outcome: 'wait' })
    expect(exit.signal).toBe('SIGKILL')
    await fleet.ended(ids)
    await expectWhole(fleet.db, ids, 1)
    const waits = await fleet.db<{ waits: number }[]>`
      select distinct count(*)::int as waits from event
      where type = 'job.waiting' and job_id = any(${ids}::uuid[]) group by job_id`
    expect(waits).toEqual([{ waits: 1 }])
  })

  test('while a retry is put down: the job is tried again', async () => {
    const armed = await fleet.worker('kill:before-finish')
    const { exit, ids } = await fleet.feed(armed, 6, { effects: 1, outcome: 'fail-once' })
    expect(exit.signal).toBe('SIGKILL')
    await fleet.ended(ids)
    await expectWhole(fleet.db, ids, 1)
  })

  // promise: killed-worker
  test.each(fleet.share(['before-undo', 'after-undo', 'before-finish'] as const))(
    'at %s of a cancel: another worker undoes the rest',
    async (point) => {
      const armed = await fleet.worker(`kill:${point}`)
      const ids = await fleet.add(6, { effects: 2, steps: 1, step_ms: 60_000 })
      await bothAreBusy(fleet, 2)
      for (const id of ids) await requestCancel(fleet.db, id, { by: 'test', reason: 'not wanted' })
      expect((await ending(armed)).signal).toBe('SIGKILL')
      await fleet.ended(ids)
      await expectUndone(fleet, ids, 'canceled')
    },
  )

  test.each(fleet.share(['before-undo', 'after-undo'] as const))(
    'at %s of a failure: nothing stays outside',
    async (point) => {
      const armed = await fleet.worker(`kill:${point}`)
      const { exit, ids } = await fleet.feed(armed, 6, { effects: 2, outcome: 'fail' })
      expect(exit.signal).toBe('SIGKILL')
      await fleet.ended(ids)
      await expectUndone(fleet, ids, 'failed')
    },
  )
})
