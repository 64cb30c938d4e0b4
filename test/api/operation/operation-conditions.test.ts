import { expect, test } from 'vitest'
import { addMachine } from '../../support/machines.ts'
import { createDatabase } from '../../support/postgres.ts'
import { type Body, clientOf, depsOver } from '../setup.ts'

const { db } = await createDatabase()
const call = clientOf(depsOver(db, { limits: { requestsPerSecond: 10_000, requestsBurst: 10_000 } }))
const ask = async (json: Record<string, unknown>): Promise<Body> => {
  const { status, body, text } = await call('POST', '/v1/operations', { json })
  expect(status, text).toBe(202)
  return body
}

interface Shown {
  readonly id: string
  readonly phase: string
  readonly progress: string | null
  readonly conditions: readonly {
    readonly type: string
    readonly status: string
    readonly reason: string
    readonly message: string
    readonly last_transition_time: string
  }[]
}

const read = async (id: string): Promise<Shown> =>
  (await call('GET', `/v1/operations/${id}?view=conditions`)).body as unknown as Shown

/** Phase, Completed and SignalSent, in short; the list says the same as the operation itself. */
const shown = async (id: string) => {
  const view = await read(id)
  const { body } = await call('GET', '/v1/operations?view=conditions&limit=50')
  expect((body.items as unknown as Shown[]).find((one) => one.id === id)).toEqual(view)
  const words = view.conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`)
  return [view.phase, ...words]
}

const set = (id: string, state: string, reason: string, ended = false) => db`
  update operation set state = ${state}, reason = ${reason}, started_at = now(),
    finished_at = case when ${ended} then now() end where id = ${id}::uuid`

const addEffect = ({ job_id: job }: Body, doneAt: string | null, name = 'power') => db`
  insert into effect (id, job_id, subject_type, subject_id, epoch, kind, platform, name, state, done_at)
  select gen_random_uuid(), id, subject_type, subject_id, 1, 'operation-power', 'vc', ${name},
    ${doneAt === null ? 'intended' : 'done'}, ${doneAt}::timestamptz
  from job where id = ${String(job)}::uuid`

const when = '2026-01-02T03:04:05.000Z'

test('tools that know conditions read each state of an operation as they know it', async () => {
  const machine = await addMachine(db, { power: 'off', name: 'seen-1' })
  const start = await ask({ machine, kind: 'start' })
  const behind = await ask({ machine, kind: 'snapshot', on_conflict: 'queue' })
  // No worker is alive here: it waits for one.
  expect(await shown(start.id)).toEqual([
    ...['Pending', 'Completed False NotReadyToBeExecuted', 'SignalSent Unknown Unknown'],
  ])
  expect(await shown(behind.id)).toEqual([
    ...['Pending', 'Completed False NotReadyToBeExecuted', 'SignalSent Unknown Unknown'],
  ])
  await set(start.id, 'running', 'in-progress')
  expect(await shown(start.id)).toEqual([
    ...['Pending', 'Completed False Unknown', 'SignalSent Unknown Unknown'],
  ])
  await addEffect(start, when)
  await addEffect(start, null, 'another')
  expect(await shown(start.id)).toEqual([
    ...['InProgress', 'Completed False StartInProgress', 'SignalSent True SignalSentSuccess'],
  ])
  expect((await read(start.id)).conditions[1]?.last_transition_time).toBe(when)
  const stop = await ask({ machine, kind: 'stop' })
  expect(await shown(start.id)).toEqual([
    ...['Completed', 'Completed True Superseded', 'SignalSent True SignalSentSuccess'],
  ])
  await set(stop.id, 'completed', 'completed', true)
  expect(await shown(stop.id)).toEqual([
    ...['Completed', 'Completed True OperationCompleted', 'SignalSent True SignalSentSuccess'],
  ])
})

test('a failure tells tools whether the target was asked, and a cancel that it was not', async () => {
  const failed = await ask({ machine: await addMachine(db, { power: 'off' }), kind: 'start' })
  await addEffect(failed, null)
  await set(failed.id, 'failed', 'deadline-exceeded', true)
  expect(await shown(failed.id)).toEqual([
    ...['Failed', 'Completed False OperationFailed', 'SignalSent False SignalSentError'],
  ])
  const late = await ask({ machine: await addMachine(db, { power: 'off' }), kind: 'start' })
  await set(late.id, 'failed', 'wait-expired', true)
  expect(await shown(late.id)).toEqual([
    ...['Failed', 'Completed False NotReadyToBeExecuted', 'SignalSent Unknown Unknown'],
  ])
  const canceled = await ask({ machine: await addMachine(db, { power: 'off' }), kind: 'start' })
  await call('POST', `/v1/operations/${canceled.id}/:cancel`)
  expect(await shown(canceled.id)).toEqual([
    ...['Failed', 'Completed False Canceled', 'SignalSent Unknown Unknown'],
  ])
})

test('a completed operation whose job is forgotten has sent its signal, and of a failed one nobody knows', async () => {
  const ids = [
    await ask({ machine: await addMachine(db, { power: 'off' }), kind: 'start' }),
    await ask({ machine: await addMachine(db, { power: 'off' }), kind: 'start' }),
  ] as const
  await set(ids[0].id, 'completed', 'completed', true)
  await set(ids[1].id, 'failed', 'failed', true)
  for (const { job_id: job } of ids) await db`delete from job where id = ${String(job)}::uuid`
  expect((await shown(ids[0].id))[2]).toBe('SignalSent True SignalSentSuccess')
  expect((await shown(ids[1].id))[2]).toBe('SignalSent Unknown Unknown')
})

test('a move tells tools of its slot, its copy and how far it is', async () => {
  const move = await ask({ machine: await addMachine(db, { power: 'on' }), kind: 'migrate' })
  expect(await shown(move.id)).toContain('Completed False MigrationPending')
  await db`update job set state = 'waiting', wait_reason = 'token', wait_since = now(), wait_until = now() where id = ${String(move.job_id)}::uuid`
  expect(await shown(move.id)).toEqual([
    ...['Pending', 'Completed False WaitingForSyncSlot', 'SignalSent Unknown Unknown'],
  ])
  await db`update job set state = 'running', wait_reason = null, wait_since = null, wait_until = null, lease_until = now() + interval '1 hour'
    where id = ${String(move.job_id)}::uuid`
  await set(move.id, 'running', 'move-syncing')
  await addEffect(move, when)
  await db`update operation set progress = 45 where id = ${move.id}::uuid`
  expect(await shown(move.id)).toEqual([
    ...['InProgress', 'Completed False Syncing', 'SignalSent True SignalSentSuccess'],
  ])
  expect((await read(move.id)).progress).toBe('45%')
})
