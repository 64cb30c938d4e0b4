import { v7 as uuidv7 } from 'uuid'
import { expect, test } from 'vitest'
import { violatedConstraint } from '../../../db/client.ts'
import { listOperations, readOperation } from '../../../db/queries/operations/list-operations.ts'
import {
  findOpenOperations,
  findOperation,
  insertOperation,
  moveOperation,
} from '../../../db/queries/operations/operation-rows.ts'
import type { OperationRow } from '../../../db/schema/operation.ts'
import {
  activeStates,
  isActive,
  type OperationState,
  operationStates,
} from '../../../src/domain/operation/kinds/state.ts'
import { cancelOperation } from '../../../src/operation/admission/cancel-operation.ts'
import { addMachine } from '../../support/machines.ts'
import { createDatabase } from '../../support/postgres.ts'

const { db } = await createDatabase()

/**
 * Past all that is asked before it, as one that two processes store at once would be. What has no way to begin is put
 * where it is.
 */
const insert = (machineId: string, state: OperationState, id = uuidv7()): Promise<OperationRow> =>
  db.begin(async (tx) => {
    const made = await insertOperation(tx, {
      ...{ id, machineId, kind: 'stop', force: false, params: {}, onConflict: 'queue', cause: 'person' },
      ...{ standsDown: false, resumes: null, deadlineSeconds: 60, waitSeconds: 600, createdBy: 'test' },
      ...{ state: isActive(state) ? 'pending' : 'queued', reason: 'admitted', message: 'It may begin.' },
    })
    await tx`update operation set state = ${state} where id = ${id}::uuid`
    return { ...made, state }
  }) as Promise<OperationRow>

const stateOf = async (id: string): Promise<string | undefined> => (await findOperation(db, id))?.state

test('what was seen in another state than it is in stays as it is', async () => {
  const { id } = await insert(await addMachine(db), 'pending')
  const told = { id, reason: 'failed', message: 'The test did it.', actor: 'test' } as const
  const moved = await db.begin((tx) => moveOperation(tx, { ...told, event: 'expire', seen: 'queued' }))
  expect(moved).toBeUndefined()
  expect(await stateOf(id)).toBe('pending')
  // There is no such edge: whoever asks for it is wrong about the table, not about the row.
  await expect(
    db.begin((tx) => moveOperation(tx, { ...told, event: 'complete', seen: 'pending' })),
  ).rejects.toThrow('No operation that is pending can complete.')
})

// promise: operation-table
test('a second operation at a machine is refused by Postgres itself, whoever stores it', async () => {
  for (const first of activeStates)
    for (const second of activeStates) {
      const machine = await addMachine(db)
      await insert(machine, first)
      const error = await insert(machine, second).catch((refused: unknown) => refused)
      expect(error).toMatchObject({ code: '23505' })
      expect(violatedConstraint(error)).toBe('operation_active')
      // Any number may stand behind it, or have been there.
      for (const state of operationStates.filter((one) => one !== 'pending' && one !== 'running'))
        await insert(machine, state)
    }
})

// promise: operation-table
test('turns come in the order of asking, also where the clocks of those who ask do not agree', async () => {
  const machine = await addMachine(db)
  const active = await insert(machine, 'pending')
  // The later one asks, the farther its clock is behind.
  const ids = Array.from({ length: 4 }, (_, place) => uuidv7({ msecs: Date.now() - place * 60_000 }))
  for (const id of ids) await insert(machine, 'queued', id)
  expect(ids.toSorted()).toEqual(ids.toReversed())
  expect((await findOpenOperations(db, machine)).map(({ id }) => id)).toEqual([active.id, ...ids])
  const positions = await Promise.all(ids.map(async (id) => (await readOperation(db, id, 1_000))?.position))
  expect(positions).toEqual([1, 2, 3, 4])
  const turns: string[] = []
  for (let at = active.id; turns.length < ids.length; at = turns.at(-1) ?? '') {
    await db.begin((tx) => cancelOperation(tx, { id: at, by: 'test' }))
    const [now] = await db<{ id: string }[]>`
      select id from operation where machine_id = ${machine}::uuid and state = 'pending'`
    turns.push(now?.id ?? 'nobody')
  }
  expect(turns).toEqual(ids)
})

/** The database, and how many rows each of its reads has given. */
const counted = () => {
  const reads: number[] = []
  const spied = new Proxy(db, {
    apply: (target, self, args) => {
      const query = Reflect.apply(target, self, args)
      const then = query.then?.bind(query)
      if (then)
        // biome-ignore lint/suspicious/noThenProperty: a query is sent when it is awaited, and only those are reads
        query.then = (heard: (rows: readonly unknown[]) => unknown, failed: unknown) =>
          then((rows: readonly unknown[]) => {
            reads.push(rows.length)
            return heard(rows)
          }, failed)
      return query
    },
  })
  return { reads, spied }
}

test('what shows a reason is found among however many that are open, and read in parts', async () => {
  const machine = await addMachine(db)
  const [oldest, older] = [await insert(machine, 'queued'), await insert(machine, 'queued')]
  const [like] = await db<{ id: string }[]>`
    update operation set reason = 'paused' where id in (${oldest.id}::uuid, ${older.id}::uuid) returning id`
  // All of them newer than those two.
  await db`
    insert into operation overriding user value
    select (jsonb_populate_record(o, jsonb_build_object('reason', 'admitted',
      'id', 'ffffffff-ffff-7fff-8fff-' || lpad(n::text, 12, '0')))).*
    from operation o, generate_series(1, 1500) n where o.id = ${like?.id ?? ''}::uuid`
  const { reads, spied } = counted()
  const page = { before: undefined, limit: 10, silentMs: 60_000 }
  const found = await listOperations(spied, { reason: 'paused' } as never, page)
  expect(found.map(({ id }) => id)).toEqual([older.id, oldest.id])
  expect(reads.length).toBeGreaterThan(1)
  expect(Math.max(...reads)).toBeLessThanOrEqual(1_000)
  const some = await listOperations(db, { reason: 'admitted', machine } as never, page)
  expect(some).toHaveLength(10)
  await db`delete from operation where machine_id = ${machine}::uuid`
})
