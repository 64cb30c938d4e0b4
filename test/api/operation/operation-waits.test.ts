import { v7 as uuidv7 } from 'uuid'
import { beforeEach, expect, test } from 'vitest'
import { beatWorker } from '../../../db/queries/fleet/workers.ts'
import { addMachine } from '../../support/machines.ts'
import { createDatabase } from '../../support/postgres.ts'
import { type Body, clientOf, depsOver, tester } from '../setup.ts'

const { db } = await createDatabase()
const call = clientOf(depsOver(db, { limits: { requestsPerSecond: 10_000, requestsBurst: 10_000 } }))
const ask = async (json: Record<string, unknown>) => (await call('POST', '/v1/operations', { json })).body
const look = async (id: unknown, view = '') => (await call('GET', `/v1/operations/${String(id)}${view}`)).body

const worker = {
  ...{ id: uuidv7(), role: 'worker', host: 'here', pid: 1, version: '0' },
  ...{ kinds: { 'operate-machine': 1 }, slots: { 'operate-machine': 16 } },
}

beforeEach(async () => {
  await db`delete from pause`
  await db`delete from worker`
  await beatWorker(db, worker, 'active')
})

const jobOf = (operation: Body) => String(operation.job_id)

// promise: operation-wait
test('without a worker that can do it, it says so; with one it waits for that', async () => {
  const made = await ask({ machine: await addMachine(db), kind: 'stop' })
  expect(made).toMatchObject({ reason: 'admitted', waits: { ends_when: 'A worker is free for its target.' } })
  await db`update worker set heartbeat_at = now() - interval '1 hour'`
  expect(await look(made.id)).toMatchObject({
    ...{ state: 'pending', reason: 'no-worker', remedy: 'Start a worker.' },
    waits: { reason: 'no-worker', until: made.expires_at },
  })
})

// promise: operation-wait
test('one that is tried again says what went wrong, and when that is', async () => {
  const made = await ask({ machine: await addMachine(db), kind: 'stop' })
  const error = {
    code: 'platform-unreachable',
    class: 'environment',
    message: 'It does not answer.',
    remedy: 'Look.',
  }
  await db`update job set error = ${db.json(error)}, run_after = now() + interval '1 hour', bell = 'held'
    where id = ${jobOf(made)}::uuid`
  const now = await look(made.id)
  expect(now).toMatchObject({
    ...{ reason: 'retrying', message: 'It failed for the moment and is tried again.' },
    waits: { reason: 'retrying', detail: 'It does not answer.', error, since: made.created_at },
  })
  const until = Date.parse((now.waits as { until: string }).until)
  expect(until).toBeGreaterThan(Date.now() + 3_000_000)
  const listed = await call('GET', '/v1/operations?reason=retrying')
  expect(listed.body.items.map(({ id }) => id)).toEqual([made.id])
})

// promise: operation-wait
test('one that waits for a slot says for which, how many there are, who has them and its place', async () => {
  const holder = await ask({ machine: await addMachine(db, { name: 'holder-1' }), kind: 'evict' })
  const made = await ask({ machine: await addMachine(db), kind: 'migrate' })
  const other = await ask({ machine: await addMachine(db), kind: 'migrate' })
  const token = 'host-outbound-moves/node-1'
  await db`insert into token_hold (token, job_id, epoch) values (${token}, ${jobOf(holder)}::uuid, 1)`
  const foreign = uuidv7()
  await db`insert into token_hold (token, job_id, epoch) values (${token}, ${foreign}::uuid, 1)`
  const line = [other, made]
  for (const [place, { job_id: job }] of line.entries())
    await db`update job set state = 'waiting', tokens = array[${token}], wait_reason = 'token', wait_signal = 'token',
      wait_detail = ${token}, wait_since = now() - interval '1 hour' * ${2 - place}::int,
      wait_until = now() + interval '1 day' where id = ${String(job)}::uuid`
  const now = await look(made.id)
  expect(now.reason).toBe('awaiting-slot')
  expect((now.waits as { slots: unknown }).slots).toEqual([
    {
      ...{ token, limit: expect.any(Number), holds: 2, waiters: 2, position: 2 },
      holders: expect.arrayContaining([
        { job_id: holder.job_id, operation_id: holder.id, machine: 'holder-1' },
        { job_id: foreign, operation_id: null, machine: null },
      ]),
    },
  ])
  expect((await look(other.id)).waits).toMatchObject({ slots: [{ position: 1 }] })
})

test('one whose kind or lane is paused says by whom and why', async () => {
  const targetId = uuidv7()
  const made = await ask({ machine: await addMachine(db, { targetId }), kind: 'stop' })
  const pause = { scope: 'lane', name: `machines/${targetId}`, reason: 'storage is being mended' }
  expect((await call('POST', '/v1/pauses', { json: pause })).status).toBeLessThan(300)
  const now = await look(made.id)
  expect(now).toMatchObject({ reason: 'paused', waits: { reason: 'paused' } })
  expect((now.waits as { detail: string }).detail).toBe(
    `${tester} paused the lane machines/${targetId}: storage is being mended`,
  )
})

test('one that queues says who is at the machine and how many are before it', async () => {
  const machine = await addMachine(db)
  const first = await ask({ machine, kind: 'snapshot' })
  const second = await ask({ machine, kind: 'stop', on_conflict: 'queue' })
  expect(second).toMatchObject({
    ...{ state: 'queued', reason: 'queued', position: 1, blocker: first.id },
    waits: {
      reason: 'queued',
      until: second.expires_at,
      detail: `1 before it; ${first.id} is at the machine.`,
    },
  })
  // What the first has begun is called off, and until that is done nobody has a turn.
  await db`update job set state = 'running', lease_until = now() + interval '1 hour'
    where id = ${jobOf(first)}::uuid`
  await call('POST', `/v1/operations/${first.id}/:cancel`)
  expect(await look(second.id)).toMatchObject({
    ...{ state: 'queued', position: 0, blocker: null },
    waits: { older: [first.id], detail: `0 before it; ${first.id} is still active.` },
  })
})

test('what its kind waits for is told in the words of its job, and what runs now waits for nothing', async () => {
  const made = await ask({ machine: await addMachine(db), kind: 'stop' })
  await db`update operation set state = 'running', reason = 'in-progress', started_at = now(),
    deadline_at = now() + interval '10 minutes' where id = ${made.id}::uuid`
  await db`update job set state = 'waiting', wait_reason = 'in-progress', wait_detail = 'waits for power off',
    wait_since = now(), wait_until = now() + interval '5 seconds' where id = ${jobOf(made)}::uuid`
  expect(await look(made.id)).toMatchObject({
    waits: { reason: 'in-progress', detail: 'waits for power off' },
  })
  await db`update job set state = 'running', lease_until = now() + interval '1 hour', wait_reason = null,
    wait_since = null, wait_until = null where id = ${jobOf(made)}::uuid`
  expect(await look(made.id)).toMatchObject({ reason: 'in-progress', waits: null })
})

test('tools that know conditions read each operation by them, one or a page', async () => {
  const machine = await addMachine(db, { power: 'off', name: 'conditions-1' })
  const older = await ask({ machine, kind: 'start' })
  expect(await look(older.id, '?view=conditions')).toMatchObject({
    ...{ id: older.id, phase: 'Pending' },
    conditions: [
      { type: 'Completed', status: 'False', reason: 'Unknown' },
      { type: 'SignalSent', status: 'Unknown' },
    ],
  })
  const newer = await ask({ machine, kind: 'stop' })
  const seen = await look(older.id, '?view=conditions')
  expect(seen).toMatchObject({
    phase: 'Completed',
    conditions: [
      { type: 'Completed', status: 'True', reason: 'Superseded', message: expect.stringContaining(newer.id) },
      { type: 'SignalSent', status: 'Unknown' },
    ],
  })
  await call('POST', `/v1/operations/${newer.id}/:cancel`)
  const listed = await call('GET', '/v1/operations?machine=conditions-1&view=conditions')
  expect(listed.body.items).toMatchObject([
    { id: newer.id, phase: 'Failed', conditions: [{ status: 'False', reason: 'Canceled' }, {}] },
    seen,
  ])
})
