import { expect, test } from 'vitest'
import { clientOf, depsOver } from '../../api/setup.ts'
import { jobOf } from '../../support/ledger.ts'
import { createOperatingWorld } from '../../support/operating.ts'

const world = await createOperatingWorld()
const { db, lab } = world
const call = clientOf(depsOver(db))
const verb = (jobId: string, name: 'cancel' | 'retry') =>
  call('POST', `/v1/jobs/${jobId}/:${name}`, { json: {} })

test('an operation past its return is not canceled by its job either', async () => {
  const machine = await world.machine('vm-101')
  await world.done(machine, 'snapshot', { params: { name: 'before' } })
  await world.pace(60)
  const restore = await world.ask(machine, 'restore', { params: { snapshot: 'before' } })
  const { jobId } = await world.turn(restore)
  const refused = await verb(jobId ?? '', 'cancel')
  expect([refused.status, refused.body.code]).toEqual([409, 'past-return'])
  await world.pace(0)
  await lab.pass(300_000)
  expect(await world.finish(restore)).toMatchObject({ state: 'completed' })
  expect((await world.power('vm-101')).state).toBe('on')
})

test('who cancels the job of an operation cancels the operation, and is recorded there', async () => {
  const machine = await world.machine('vm-102')
  const stop = await world.ask(machine, 'stop')
  const { jobId } = await world.operation(stop.id)
  expect((await verb(jobId ?? '', 'cancel')).status).toBe(202)
  expect(await world.operation(stop.id)).toMatchObject({ state: 'canceled', settledAt: expect.any(Date) })
  const told = await db<{ actor: string }[]>`
    select actor from event where type = 'operation.canceled' and subject_id = ${stop.id}`
  expect(told).toHaveLength(1)
  expect(told[0]?.actor).not.toMatch(/conductor|job/)
})

test('the job of an operation that has ended is not run again, and keeps its error', async () => {
  const machine = await world.machine('vm-103')
  const failed = await world.done(machine, 'restore', { params: { snapshot: 'absent' } })
  const { error } = await jobOf(db, failed.jobId ?? '')
  const refused = await verb(failed.jobId ?? '', 'retry')
  expect([refused.status, refused.body.code]).toEqual([409, 'operation-ended'])
  expect(refused.body.remedy).toContain('Ask for the operation again')
  expect(await jobOf(db, failed.jobId ?? '')).toMatchObject({ state: 'failed', error })
})
