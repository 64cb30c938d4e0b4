import { expect, test } from 'vitest'
import { readSignals } from '../../../db/queries/jobs/read-signals.ts'
import type { OperationRow } from '../../../db/schema/operation.ts'
import { createOperatingWorld } from '../../support/operating.ts'
import { readingOf } from '../../support/plans.ts'

const world = await createOperatingWorld()
const { db, site } = world

const off = (ref: string) => site.done(`POST /instances/${ref}/power`, { verb: 'stop' })
const signalOf = async (asked: OperationRow) =>
  (await readSignals(db, [asked.jobId ?? ''])).get(asked.jobId ?? '')

test('a target that cannot be reached was sent nothing', async () => {
  await off('vm-101')
  const machine = await world.machine('vm-101', 'off')
  await world.fault({ kind: 'error', code: 'platform-unreachable', call: 'power', machine: 'vm-101' })
  const asked = await world.ask(machine, 'start')
  expect(await world.turn(asked)).toMatchObject({ state: 'running', reason: 'target-unreachable' })
  expect(await signalOf(asked)).toEqual({ attempted: false, acceptedAt: null })
  await world.clearFaults()
})

test('what a target refuses was attempted, and sent from the call on that it takes, for good', async () => {
  await off('vm-102')
  const machine = await world.machine('vm-102', 'off')
  await world.fault({
    ...{ kind: 'error', code: 'platform-no-capacity', failure: 'refused', call: 'start', machine: 'vm-102' },
  })
  const asked = await world.ask(machine, 'start')
  expect(await world.turn(asked)).toMatchObject({ state: 'running', reason: 'host-full' })
  expect(await signalOf(asked)).toEqual({ attempted: true, acceptedAt: null })
  await world.clearFaults()
  await world.pace(1_000)
  await world.turn(asked)
  const sent = await signalOf(asked)
  expect(sent).toEqual({ attempted: true, acceptedAt: expect.any(Date) })
  const { startedAt } = await world.operation(asked.id)
  expect(sent?.acceptedAt?.getTime()).toBeGreaterThanOrEqual(startedAt?.getTime() ?? 0)
  // Looked at again, and undone by who gives it up: the moment stays.
  await world.turn(asked)
  expect(await signalOf(asked)).toEqual(sent)
  await world.cancel(asked)
  await world.pace(0)
  await world.worker.finish(asked.jobId ?? '')
  expect(await world.operation(asked.id)).toMatchObject({ state: 'canceled' })
  expect(await signalOf(asked)).toEqual(sent)
})

test('a stop of what is off is done without a signal', async () => {
  await off('vm-103')
  const stopped = await world.done(await world.machine('vm-103'), 'stop')
  expect(stopped).toMatchObject({ state: 'completed' })
  expect(await signalOf(stopped)).toEqual({ attempted: false, acceptedAt: null })
})

test('a page of operations is looked up by the jobs of its rows alone', async () => {
  await db`insert into effect (id, job_id, subject_type, subject_id, epoch, kind, platform, name, state)
    select gen_random_uuid(), gen_random_uuid(), 'operation', n::text, 1, 'operation-power', 'vc', n::text, 'done'
    from generate_series(1, 5000) n`
  await db`analyze effect`
  const asked = await world.done(await world.machine('vm-104'), 'stop')
  const { rows } = await readingOf(db, (reader) => readSignals(reader, [asked.jobId ?? '']))
  expect(rows).toBeLessThan(20)
})
