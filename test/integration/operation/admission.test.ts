import { expect, test } from 'vitest'
import { findOpenOperations, findOperation } from '../../../db/queries/operations/operation-rows.ts'
import type { ConflictRule } from '../../../src/domain/operation/admission/admit.ts'
import {
  type OperationVariant,
  operationKinds,
  variantText,
} from '../../../src/domain/operation/kinds/kinds.ts'
import { operationMatrix } from '../../../src/domain/operation/kinds/matrix.ts'
import { DroverError } from '../../../src/errors.ts'
import { type AskedOperation, askOperation } from '../../../src/operation/admission/ask-operation.ts'
import { cancelOperation } from '../../../src/operation/admission/cancel-operation.ts'
import { addMachine } from '../../support/machines.ts'
import { createDatabase } from '../../support/postgres.ts'

const { db } = await createDatabase()

const ask = (
  machineId: string,
  { kind, force }: OperationVariant,
  onConflict: ConflictRule = 'supersede',
): Promise<AskedOperation> =>
  db.begin((tx) =>
    askOperation(tx, {
      ...{ machineId, kind, force, onConflict, params: {}, cause: 'person', by: 'test' },
      ...{ deadlineSeconds: 600, waitSeconds: 3_600 },
    }),
  ) as Promise<AskedOperation>

const outcomeOf = async (asked: Promise<AskedOperation>): Promise<AskedOperation | DroverError> =>
  asked.catch((error: unknown) => {
    if (error instanceof DroverError) return error
    throw error
  })

/** What a machine has to be for an operation to make sense on it. */
const fitFor = ({ kind }: OperationVariant) => {
  if (kind === 'start') return { power: 'off' } as const
  if (kind === 'wake') return { power: 'off', savedState: 'state-1' } as const
  return { power: 'on' } as const
}

// promise: matrix
test('each of the 196 pairs ends as the matrix says, for both operations', async () => {
  const wrong: string[] = []
  for (const { older, newer, outcome } of operationMatrix) {
    const machine = await addMachine(db, fitFor(older))
    const first = await ask(machine, older)
    const second = await outcomeOf(ask(machine, newer))
    const now = await findOperation(db, first.operation.id)
    const pair = `${variantText(older)} <- ${variantText(newer)}`
    if (second instanceof DroverError) {
      const stays = now?.state === 'pending' && now.supersededBy === null
      if (outcome !== 'refuse' || !stays || second.code !== 'blocked') wrong.push(`${pair}: ${second.code}`)
      else expect(second.message).toContain(first.operation.id)
    } else {
      const linked = now?.state === 'superseded' && now.supersededBy === second.operation.id
      if (outcome !== 'supersede' || !linked || second.operation.state !== 'pending') wrong.push(pair)
    }
  }
  expect(wrong).toEqual([])
})

test('of two hundred who ask at once exactly one is at the machine, and each other knows by whom', async () => {
  const machine = await addMachine(db, { power: 'on' })
  const kinds = operationKinds.filter((kind) => kind !== 'start' && kind !== 'wake')
  const asked = await Promise.all(
    Array.from({ length: 200 }, (_, index) => {
      const kind = kinds[index % kinds.length] ?? 'stop'
      return outcomeOf(ask(machine, { kind, force: kind === 'stop' && index % 3 === 0 }))
    }),
  )
  const open = await findOpenOperations(db, machine)
  const active = open.filter(({ state }) => state === 'pending' || state === 'running')
  expect(active).toHaveLength(1)
  const made = asked.filter((one) => !(one instanceof DroverError)) as AskedOperation[]
  const refused = asked.filter((one) => one instanceof DroverError)
  expect(made.length + refused.length).toBe(200)
  for (const { code, message } of refused) {
    expect(code).toBe('blocked')
    expect(made.some(({ operation }) => message.includes(operation.id))).toBe(true)
  }
  // Whoever was admitted is at the machine, or says who took its place, up to the one that is.
  for (const { operation } of made) {
    let now = await findOperation(db, operation.id)
    while (now?.state === 'superseded' && now.supersededBy) now = await findOperation(db, now.supersededBy)
    expect(now?.id).toBe(active[0]?.id)
  }
})

test('a supersede whose newer one would make no sense destroys nothing', async () => {
  const machine = await addMachine(db, { power: 'on' })
  const { operation } = await ask(machine, { kind: 'migrate', force: false })
  await db`update machine set run_policy = 'always-on' where id = ${machine}::uuid`
  const refused = await outcomeOf(ask(machine, { kind: 'stop', force: false }))
  expect(refused).toMatchObject({ code: 'not-for-run-policy', field: 'kind' })
  expect(await findOperation(db, operation.id)).toMatchObject({ state: 'pending', supersededBy: null })
  const [job] = await db<{ state: string }[]>`select state from job where id = ${operation.jobId}::uuid`
  expect(job?.state).toBe('ready')
})

test('a chain of three leaves one, and links all', async () => {
  const machine = await addMachine(db, { power: 'off' })
  const first = await ask(machine, { kind: 'start', force: false })
  const second = await ask(machine, { kind: 'stop', force: false })
  const third = await ask(machine, { kind: 'stop', force: true })
  expect(await findOperation(db, first.operation.id)).toMatchObject({
    state: 'superseded',
    supersededBy: second.operation.id,
  })
  expect(await findOperation(db, second.operation.id)).toMatchObject({
    state: 'superseded',
    supersededBy: third.operation.id,
  })
  expect((await findOpenOperations(db, machine)).map(({ id }) => id)).toEqual([third.operation.id])
})

test('what is queued stands in order, has no job yet, and says how many are before it', async () => {
  const machine = await addMachine(db, { power: 'on' })
  await ask(machine, { kind: 'snapshot', force: false })
  const second = await ask(machine, { kind: 'stop', force: false }, 'queue')
  const third = await ask(machine, { kind: 'start', force: false }, 'queue')
  expect(second.operation).toMatchObject({
    state: 'queued',
    jobId: null,
    message: '1 operation is before it.',
  })
  expect(third.operation).toMatchObject({ state: 'queued', message: '2 operations are before it.' })
})

test('a turn that the run policy no longer leaves room for goes to the next', async () => {
  const machine = await addMachine(db, { power: 'on' })
  const first = await ask(machine, { kind: 'snapshot', force: false })
  const second = await ask(machine, { kind: 'stop', force: false }, 'queue')
  const third = await ask(machine, { kind: 'clone', force: false }, 'queue')
  await db`update machine set run_policy = 'always-on' where id = ${machine}::uuid`
  await db.begin((tx) => cancelOperation(tx, { id: first.operation.id, by: 'test' }))
  expect(await findOperation(db, second.operation.id)).toMatchObject({
    ...{ state: 'failed', reason: 'not-for-run-policy', startedAt: null },
    message: 'The run policy of the machine leaves no room for it. It is always-on by now.',
    settledAt: expect.any(Date),
  })
  expect(await findOperation(db, third.operation.id)).toMatchObject({ state: 'pending' })
})

/** It has asked the platform, and its job is still at it. */
const underWay = async ({ operation }: AskedOperation): Promise<void> => {
  await db`update operation set state = 'running', started_at = now() where id = ${operation.id}::uuid`
  await db`update job set state = 'running', lease_until = now() + interval '1 hour' where id = ${operation.jobId ?? ''}::uuid`
}

// promise: older-lets-go
test('what was canceled and still lets go counts: a stop is let in behind a start that may come about', async () => {
  const machine = await addMachine(db, { power: 'off' })
  const start = await ask(machine, { kind: 'start', force: false })
  await underWay(start)
  await db.begin((tx) => cancelOperation(tx, { id: start.operation.id, by: 'test' }))
  const stop = await ask(machine, { kind: 'stop', force: false })
  expect(stop.operation).toMatchObject({ kind: 'stop', state: 'pending' })
  const running = await addMachine(db, { power: 'on' })
  const plug = await ask(running, { kind: 'stop', force: true })
  await underWay(plug)
  await db.begin((tx) => cancelOperation(tx, { id: plug.operation.id, by: 'test' }))
  const again = await ask(running, { kind: 'restart', force: true })
  expect(again.operation).toMatchObject({ kind: 'restart', state: 'pending' })
})

test('what was canceled before it asked the platform for anything leaves the machine as it is seen', async () => {
  const machine = await addMachine(db, { power: 'off' })
  const start = await ask(machine, { kind: 'start', force: false })
  await db`update job set state = 'running', lease_until = now() + interval '1 hour'
    where id = ${start.operation.jobId ?? ''}::uuid`
  await db.begin((tx) => cancelOperation(tx, { id: start.operation.id, by: 'test' }))
  expect(await outcomeOf(ask(machine, { kind: 'stop', force: false }))).toMatchObject({
    code: 'not-for-phase',
  })
})

// promise: person-first
test('the undoing of one that gave way does not stand behind what matters less than the newer', async () => {
  const machine = await addMachine(db, { power: 'on' })
  const wanted = (kind: 'evict' | 'stop', force: boolean, cause: 'evacuation' | 'person') =>
    db.begin((tx) =>
      askOperation(tx, {
        ...{ machineId: machine, kind, force, onConflict: 'supersede', params: {}, cause, by: 'test' },
        ...{ deadlineSeconds: 600, waitSeconds: 3_600 },
      }),
    ) as Promise<AskedOperation>
  const evict = await wanted('evict', false, 'evacuation')
  await underWay(evict)
  const stop = await wanted('stop', true, 'person')
  const jobs = await db<{ id: string; priority: number }[]>`
    select id, priority from job where id in ${db([evict.operation.jobId ?? '', stop.operation.jobId ?? ''])}`
  expect(new Set(jobs.map(({ priority }) => priority))).toEqual(new Set([30]))
})
