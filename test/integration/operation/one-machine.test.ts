import { afterEach, expect, test } from 'vitest'
import type { Db, Tx } from '../../../db/client.ts'
import { askOperation } from '../../../src/operation/admission/ask-operation.ts'
import { keepRunPolicies } from '../../../src/operation/upkeep/keep-run-policies.ts'
import { resumeEvacuations } from '../../../src/operation/upkeep/resume-evacuation.ts'
import { tickOperations } from '../../../src/operation/upkeep/ticks.ts'
import { createLog } from '../../../src/process/log.ts'
import { makeSite } from '../../support/inventory.ts'
import { addMachine } from '../../support/machines.ts'
import { createDatabase } from '../../support/postgres.ts'
import { strictLog } from '../../support/strict-log.ts'

/** What cannot be done to one machine is done to all the others. */
const { db } = await createDatabase()
const { id: targetId } = await makeSite(db, {
  role: 'target',
  name: 'cloud',
  connectivity: 'ok',
  quiet: true,
})

afterEach(async () => {
  await db`drop trigger if exists broken_machine on machine`
  await db`drop trigger if exists broken_operation on operation`
  await db`delete from operation`
  await db`delete from machine`
  await db`delete from warning`
})

const addKept = (): Promise<string> => addMachine(db, { targetId, power: 'off', runPolicy: 'always-on' })

const addLeaving = async (): Promise<string> => {
  const machineId = await addMachine(db, { targetId, power: 'on' })
  await db`
    insert into operation (id, machine_id, kind, state, reason, message, on_conflict, cause, stands_down, leaves,
      deadline_seconds, expires_at, created_by, created_at, finished_at, settled_at, come_back_at)
    values (gen_random_uuid(), ${machineId}::uuid, 'evict', 'superseded', 'superseded', '', 'supersede', 'evacuation', true,
      'node-1', 60, now(), 'test', now(), now(), now(), now())`
  return machineId
}

const openAt = async (machine: string): Promise<number> => {
  const [row] = await db<{ open: number }[]>`
    select count(*)::int as open from operation where machine_id = ${machine}::uuid and settled_at is null`
  return row?.open ?? 0
}

/** Somebody has them locked and does not come to an end, meanwhile. */
const whileLocked = (machines: readonly string[], work: () => Promise<void>): Promise<void> =>
  db.begin(async (tx) => {
    await tx`select from machine where id = any(${machines as string[]}::uuid[]) for update`
    await work()
  }) as Promise<void>

/** Whatever is written about it fails. */
const breakMachine = async (id: string): Promise<void> => {
  await db`
    create or replace function broken() returns trigger language plpgsql as $$
      begin raise exception 'It is broken.'; end $$`
  await db.unsafe(
    `create trigger broken_machine before update on machine for each row when (new.id = '${id}') execute function broken()`,
  )
  await db.unsafe(
    `create trigger broken_operation before insert or update on operation for each row when (new.machine_id = '${id}') execute function broken()`,
  )
}

const listening = () => {
  const heard: string[] = []
  const destination = { write: (line: string) => void heard.push(line) }
  return { heard, log: createLog({ role: 'test', level: 'warn', destination }) }
}

test.each([
  ['run policies', addKept, keepRunPolicies],
  ['evacuations', addLeaving, resumeEvacuations],
] as const)(
  '%s: locked machines, more than a round takes, keep none from its turn',
  async (_what, make, round) => {
    const locked = await Promise.all(Array.from({ length: 55 }, make))
    const free = await make()
    await whileLocked(locked, async () => {
      await round(db, strictLog)
      expect(await openAt(free)).toBe(1)
    })
    expect(await openAt(locked[0] ?? '')).toBe(0)
    await round(db, strictLog)
    const open = await Promise.all(locked.map(openAt))
    expect(open.filter((count) => count === 1).length).toBeGreaterThan(10)
  },
)

test.each([
  ['run policies', addKept, keepRunPolicies],
  ['evacuations', addLeaving, resumeEvacuations],
] as const)(
  '%s: a machine that cannot even be left to rest keeps none from its turn',
  async (_what, make, round) => {
    const [broken, free] = [await make(), await make()]
    await breakMachine(broken)
    const { log, heard } = listening()
    await round(db, log)
    expect(await openAt(free)).toBe(1)
    expect(heard.join('')).toContain(broken)
    expect(heard.join('')).not.toContain(free)
  },
)

/** An operation whose job has ended without it. */
const addLeft = async (): Promise<string> => {
  const machineId = await addMachine(db, { targetId })
  await db.begin((tx: Tx) =>
    askOperation(tx, {
      ...{ machineId, kind: 'stop', force: true, params: {}, onConflict: 'reject', cause: 'person' },
      ...{ deadlineSeconds: 60, waitSeconds: 60, by: 'test' },
    }),
  )
  await db`update job set state = 'canceled', finished_at = now()
    where id = (select job_id from operation where machine_id = ${machineId}::uuid)`
  return machineId
}

const warn = (machine: string, type = 'policy-fails') => db`
  insert into warning (id, type, entity_type, entity_id, entity_name, messages, status)
  values (gen_random_uuid(), ${type}, 'machine', ${machine}, 'vm', '{}', 'new')`

const warned = async (): Promise<string[]> => {
  const rows = await db<{ machine: string }[]>`select entity_id as machine from warning`
  return rows.map(({ machine }) => machine)
}

// promise: hung-target
test('a machine that is locked is ticked in a later round, and the others in this one', async () => {
  const [locked, free] = [await addLeft(), await addLeft()]
  await warn(locked)
  await warn(free)
  await whileLocked([locked], async () => {
    await tickOperations(db, strictLog)
    expect(await openAt(free)).toBe(0)
    expect(await openAt(locked)).toBe(1)
    expect(await warned()).toEqual([locked])
  })
  await tickOperations(db, strictLog)
  expect(await openAt(locked)).toBe(0)
  expect(await warned()).toEqual([])
})

test('a part of a round that fails keeps no other part from its own', async () => {
  const failing = new Proxy(db, {
    apply: (of, self, [text, ...values]: [TemplateStringsArray, ...unknown[]]) =>
      String(text).includes('o.come_back_at <= now()')
        ? Promise.reject(new Error('It cannot be read.'))
        : Reflect.apply(of, self, [text, ...values]),
  }) as Db
  const machine = await addKept()
  const healed = await addMachine(db, { targetId })
  await warn(healed)
  const { log, heard } = listening()
  await tickOperations(failing, log)
  expect(heard.join('')).toContain('It cannot be read.')
  expect(await openAt(machine)).toBe(1)
  expect(await warned()).toEqual([])
})
