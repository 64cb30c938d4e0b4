import { register } from 'prom-client'
import { expect, test } from 'vitest'
import { headCursor, readEventsAfter } from '../../../db/queries/events/read-events-after.ts'
import { foldOperationEnds } from '../../../db/queries/operations/fold-operation-ends.ts'
import { systemClock } from '../../../src/clock.ts'
import {
  type AskedOperation,
  askOperation,
  type OperationAsk,
} from '../../../src/operation/admission/ask-operation.ts'
import { cancelOperation } from '../../../src/operation/admission/cancel-operation.ts'
import { recordRefusal } from '../../../src/operation/admission/record-refusal.ts'
import { operationMetrics, showOperations } from '../../../src/operation/upkeep/operation-metrics.ts'
import { metricsText } from '../../../src/process/telemetry.ts'
import { quietLog } from '../../support/events.ts'
import { addMachine } from '../../support/machines.ts'
import { createDatabase } from '../../support/postgres.ts'
import { until } from '../../support/wait.ts'

const { db } = await createDatabase()
const silentMs = 15_000

const ask = (machineId: string, given: Partial<OperationAsk> = {}): OperationAsk => ({
  ...{ machineId, kind: 'stop', force: false, onConflict: 'supersede', params: {}, cause: 'person' },
  ...{ by: 'ann', deadlineSeconds: 60, waitSeconds: 600 },
  ...given,
})

const made = (asked: OperationAsk) => db.begin((tx) => askOperation(tx, asked)) as Promise<AskedOperation>

const metric = async (name: string, labels: Record<string, string>): Promise<number> => {
  const { values = [] } = (await register.getSingleMetric(`drover_${name}`)?.get()) ?? {}
  const wanted = Object.entries(labels)
  return values
    .filter((value) =>
      wanted.every(([label, text]) => (value.labels as Record<string, unknown>)[label] === text),
    )
    .reduce((sum, { value }) => sum + value, 0)
}

const foldAll = async (): Promise<void> => {
  while ((await foldOperationEnds(db, 7)) > 0);
}

// promise: ends-told
test('every end is counted once, however many fold at once, and counts survive what is pruned', async () => {
  const machines = await Promise.all(Array.from({ length: 20 }, () => addMachine(db, { power: 'on' })))
  for (const machine of machines) {
    const { operation } = await made(ask(machine))
    await made(ask(machine, { force: true }))
    const error = await made(ask(machine)).catch((refusal: unknown) => refusal)
    await recordRefusal(db, ask(machine), error)
    expect(operation.state).toBe('pending')
  }
  await Promise.all([foldAll(), foldAll(), foldAll()])
  await showOperations(db, silentMs)
  expect(await metric('operations_total', { kind: 'stop', force: 'false', outcome: 'superseded' })).toBe(20)
  expect(await metric('operations_total', { outcome: 'refused', reason: 'blocked' })).toBe(20)
  expect(await metric('operations_open', { state: 'pending', reason: 'no-worker' })).toBe(20)
  expect(await metric('operations_oldest_seconds', { state: 'pending' })).toBeGreaterThan(0)
  await db`delete from operation where finished_at is not null`
  await foldAll()
  await showOperations(db, silentMs)
  expect(await metric('operations_total', { outcome: 'superseded' })).toBe(20)
})

test('who leads no more shows nothing, and who leads then shows the same', async () => {
  const machine = await addMachine(db, { power: 'on' })
  const { operation } = await made(ask(machine))
  await db.begin((tx) => cancelOperation(tx, { id: operation.id, by: 'ann' }))
  await foldAll()
  await showOperations(db, silentMs)
  const before = await metric('operations_total', {})
  expect(before).toBeGreaterThan(0)
  await operationMetrics({ db, clock: systemClock, log: quietLog, silentMs }).stop()
  expect(await metric('operations_total', {})).toBe(0)
  await showOperations(db, silentMs)
  expect(await metric('operations_total', {})).toBe(before)
})

/** The text of /metrics, as a scraper takes it apart: a bucket, a sum or a count. */
const spanOf = async (name: string, labels: string): Promise<number | undefined> => {
  const { body } = await metricsText()
  const line = body.split('\n').find((one) => one.startsWith(`drover_${name}{${labels}`))
  return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(' ')))
}

test('how long operations waited and ran is counted in buckets that survive what is pruned', async () => {
  const end = (kind: string, outcome: string, waited: number, ranFor: number) => db`
    insert into operation_end (kind, force, outcome, reason, waited_seconds, ran_seconds)
    values (${kind}, false, ${outcome}, ${outcome}, ${waited}, ${ranFor})`
  await end('clone', 'completed', 0.3, 45)
  await end('clone', 'completed', 2, 200_000)
  await end('clone', 'failed', 50, 0)
  await end('clone', 'refused', 0, 0)
  await end('clone', 'cancel-refused', 0, 0)
  await Promise.all([foldAll(), foldAll()])
  await showOperations(db, silentMs)
  const completed = 'kind="clone",outcome="completed"'
  const bucket = (name: string, le: string, of: string) =>
    spanOf(`operation_${name}_seconds_bucket`, `le="${le}",${of}`)
  expect(await bucket('wait', '0.1', completed)).toBe(0)
  expect(await bucket('wait', '0.3', completed)).toBe(1)
  expect(await bucket('wait', '3', completed)).toBe(2)
  expect(await bucket('wait', '+Inf', completed)).toBe(2)
  expect(await spanOf('operation_wait_seconds_sum', completed)).toBeCloseTo(2.3)
  expect(await spanOf('operation_wait_seconds_count', completed)).toBe(2)
  expect(await bucket('run', '60', completed)).toBe(1)
  expect(await bucket('run', '86400', completed)).toBe(1)
  expect(await bucket('run', '+Inf', completed)).toBe(2)
  expect(await spanOf('operation_wait_seconds_count', 'kind="clone",outcome="failed"')).toBe(1)
  // What never began has not run, and a refusal has taken no time.
  expect(await spanOf('operation_run_seconds_count', 'kind="clone",outcome="failed"')).toBeUndefined()
  expect(await spanOf('operation_wait_seconds_count', 'kind="clone",outcome="refused"')).toBeUndefined()
  expect(
    await spanOf('operation_wait_seconds_count', 'kind="clone",outcome="cancel-refused"'),
  ).toBeUndefined()
})

test('whoever follows operation.* hears of each step with who, what and why', async () => {
  const from = await headCursor(db)
  const machine = await addMachine(db, { power: 'on' })
  const first = await made(ask(machine))
  const second = await made(ask(machine, { force: true, by: 'bob' }))
  const refused = await made(ask(machine)).catch((refusal: unknown) => refusal)
  await recordRefusal(db, ask(machine), refused)
  const heard = async () =>
    (await readEventsAfter(db, from, { types: ['operation.*'], limit: 100 })).events.filter(
      ({ detail }) => detail?.machine === machine,
    )
  // A transaction of a neighbour on the same server holds the feed back for as long as it is open.
  const events = await until(
    async () => {
      const page = await heard()
      return page.length === 4 && page
    },
    { what: 'four events of operations' },
  )
  expect(events.map(({ type, actor, detail }) => [type, actor, detail?.reason])).toEqual([
    ['operation.pending', 'ann', 'admitted'],
    ['operation.superseded', 'bob', 'superseded'],
    ['operation.pending', 'bob', 'admitted'],
    ['operation.refused', 'ann', 'blocked'],
  ])
  expect(events[1]).toMatchObject({
    subject: { type: 'operation', id: first.operation.id },
    detail: { machine, kind: 'stop', cause: 'person', superseded_by: second.operation.id },
  })
  expect(events[3]).toMatchObject({ subject: { type: 'machine', id: machine }, detail: { kind: 'stop' } })
})
