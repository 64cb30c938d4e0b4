import { expect, test } from 'vitest'
import { askOperation, type OperationAsk } from '../../../src/operation/admission/ask-operation.ts'
import { recordRefusal, recordRefusals } from '../../../src/operation/admission/record-refusal.ts'
import { addMachine } from '../../support/machines.ts'
import { createDatabase } from '../../support/postgres.ts'

const { db } = await createDatabase()

const stopOf = (machineId: string): OperationAsk => ({
  ...{ machineId, kind: 'stop', force: false, onConflict: 'supersede', params: {}, cause: 'person' },
  ...{ by: 'ann', deadlineSeconds: 60, waitSeconds: 600 },
})

const refusalOf = async (ask: OperationAsk): Promise<unknown> =>
  db
    .begin((tx) => askOperation(tx, ask))
    .then(
      () => undefined,
      (error: unknown) => error,
    )

const toldOf = (machine: string) => db<{ actor: string; reason: string; detail: Record<string, unknown> }[]>`
  select actor, reason, detail from event where type = 'operation.refused' and subject_type = 'machine'
    and subject_id = ${machine} order by xid, id`

const counted = async (): Promise<number> => {
  const [row] = await db`select count(*)::int as times from operation_end where outcome = 'refused'`
  return row?.times as number
}

test('a refusal is told of with who asked, why, and who is in the way', async () => {
  const machine = await addMachine(db, { power: 'on' })
  const [first] = await Promise.all([
    db.begin((tx) => askOperation(tx, { ...stopOf(machine), kind: 'snapshot' })),
  ])
  const error = await refusalOf(stopOf(machine))
  await recordRefusal(db, stopOf(machine), error)
  expect(await toldOf(machine)).toEqual([
    {
      actor: 'ann',
      reason: (error as Error).message,
      detail: {
        ...{ machine, kind: 'stop', force: false, cause: 'person', reason: 'blocked', not_told_of: 0 },
        blocker: (first as Awaited<ReturnType<typeof askOperation>>).operation.id,
      },
    },
  ])
})

// promise: ends-told
test('the same refusal to the same person is counted each time, and told of again only after a minute', async () => {
  const machine = await addMachine(db, { power: 'off' })
  const before = await counted()
  const error = await refusalOf(stopOf(machine))
  await Promise.all(Array.from({ length: 40 }, () => recordRefusal(db, stopOf(machine), error)))
  expect(await toldOf(machine)).toHaveLength(1)
  await recordRefusal(db, { ...stopOf(machine), by: 'bob' }, error)
  expect((await toldOf(machine)).map(({ actor }) => actor)).toEqual(['ann', 'bob'])
  await db`update operation_refusal set since = since - interval '61 seconds' where machine_id = ${machine}::uuid`
  await recordRefusal(db, stopOf(machine), error)
  const told = await toldOf(machine)
  expect(told).toHaveLength(3)
  expect(told.at(-1)?.detail).toMatchObject({ reason: 'not-for-phase', not_told_of: 39 })
  expect((await counted()) - before).toBe(42)
})

test('the refusals of a bulk are written at once, from any number of people at the same time', async () => {
  const machines = await Promise.all(Array.from({ length: 30 }, () => addMachine(db, { power: 'off' })))
  const error = await refusalOf(stopOf(machines[0] ?? ''))
  const refused = machines.map((machineId) => ({ ask: stopOf(machineId), error }))
  await Promise.all([
    recordRefusals(db, refused),
    recordRefusals(db, refused.toReversed()),
    recordRefusals(db, refused),
  ])
  const told = await Promise.all(machines.map(toldOf))
  expect(told.every((events) => events.length === 1)).toBe(true)
})

test('what is no refusal leaves nothing', async () => {
  const machine = await addMachine(db)
  await recordRefusal(db, stopOf(machine), new Error('the database is away'))
  expect(await toldOf(machine)).toEqual([])
})
