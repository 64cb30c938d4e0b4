import { expect, test } from 'vitest'
import { foldOperationEnds } from '../../../db/queries/operations/fold-operation-ends.ts'
import { moveOperation } from '../../../db/queries/operations/operation-rows.ts'
import type { OperationRow } from '../../../db/schema/operation.ts'
import { type OperationReason, operationReasons } from '../../../src/domain/operation/kinds/reasons.ts'
import { DroverError } from '../../../src/errors.ts'
import {
  type AskedOperation,
  askOperation,
  type OperationAsk,
} from '../../../src/operation/admission/ask-operation.ts'
import { cancelOperation } from '../../../src/operation/admission/cancel-operation.ts'
import { endOperation } from '../../../src/operation/admission/end-operation.ts'
import { recordCancelRefusal, recordRefusal } from '../../../src/operation/admission/record-refusal.ts'
import { showOperations } from '../../../src/operation/upkeep/operation-metrics.ts'
import { tickOperations } from '../../../src/operation/upkeep/ticks.ts'
import { metricsText } from '../../../src/process/telemetry.ts'
import { addMachine } from '../../support/machines.ts'
import { createDatabase } from '../../support/postgres.ts'
import { strictLog } from '../../support/strict-log.ts'

const { db } = await createDatabase()

const askOf = (machineId: string, given: Partial<OperationAsk> = {}): OperationAsk => ({
  ...{ machineId, kind: 'stop', force: false, onConflict: 'supersede', params: {}, cause: 'person' },
  ...{ by: 'ann', deadlineSeconds: 60, waitSeconds: 600 },
  ...given,
})
const ask = async (machineId: string, given: Partial<OperationAsk> = {}): Promise<OperationRow> => {
  const asked = await db.begin((tx) => askOperation(tx, askOf(machineId, given)))
  return (asked as AskedOperation).operation
}
const errorOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  )
const begin = ({ id }: OperationRow) =>
  db.begin((tx) =>
    moveOperation(tx, {
      id,
      event: 'begin',
      reason: 'in-progress',
      message: 'Under way.',
      actor: 'w',
    }),
  )

/** Brings an end or a refusal about at that machine, as it comes about in the code. */
type Way = (machine: string, reason: OperationReason) => Promise<unknown>

/** Its job gives up with an error of that word. */
const jobFails: Way = async (machine, reason) => {
  const { jobId } = await ask(machine)
  const error = { code: reason, class: 'permanent', message: 'No.', remedy: 'None.' }
  await db`update job set state = 'failed', finished_at = now(), error = ${db.json(error)}
    where id = ${jobId ?? ''}::uuid`
  await tickOperations(db, strictLog)
}

const refuses =
  (before: (machine: string) => Promise<unknown>, given: Partial<OperationAsk> = {}): Way =>
  async (machine) => {
    await before(machine)
    const error = await errorOf(ask(machine, given))
    await recordRefusal(db, askOf(machine, given), error)
  }

const cancelRefused = async (id: string): Promise<void> => {
  const error = await errorOf(db.begin((tx) => cancelOperation(tx, { id, by: 'ann' })))
  await recordCancelRefusal(db, { id, by: 'ann', error })
}

const failures: Partial<Record<OperationReason, Way>> = {
  'machine-gone': jobFails,
  'not-for-phase': jobFails,
  unsupported: jobFails,
  'guest-keeps-running': jobFails,
  'guest-suspended': jobFails,
  'snapshot-absent': jobFails,
  'snapshot-ambiguous': jobFails,
  'name-taken': jobFails,
  'state-unusable': jobFails,
  'host-unsuitable': jobFails,
  'machine-not-movable': jobFails,
  'move-prepare-stalled': jobFails,
  'not-converging': jobFails,
  'move-aborted': jobFails,
  failed: jobFails,
  'deadline-exceeded': async (machine) => {
    const asked = await ask(machine)
    await begin(asked)
    await db`update operation set deadline_at = now() - interval '1 hour' where id = ${asked.id}::uuid`
    await tickOperations(db, strictLog)
  },
  'wait-expired': async (machine) => {
    await ask(machine)
    const { id } = await ask(machine, { onConflict: 'queue' })
    await db`update operation set expires_at = now() where id = ${id}::uuid`
    await tickOperations(db, strictLog)
  },
  'older-keeps-on': async (machine) => {
    const { jobId } = await ask(machine)
    await db`update job set state = 'running', lease_until = now() + interval '1 hour' where id = ${jobId ?? ''}::uuid`
    const { id } = await ask(machine, { force: true })
    await db`update operation set expires_at = now() where id = ${id}::uuid`
    await tickOperations(db, strictLog)
  },
  'not-for-run-policy': async (machine) => {
    const { id } = await ask(machine, { kind: 'snapshot' })
    await ask(machine, { onConflict: 'queue' })
    await db`update machine set run_policy = 'always-on' where id = ${machine}::uuid`
    await db.begin((tx) => cancelOperation(tx, { id, by: 'ann' }))
  },
}

const otherEnds: Partial<Record<OperationReason, Way>> = {
  completed: async (machine) => {
    const asked = await ask(machine)
    await begin(asked)
    await db.begin((tx) =>
      endOperation(tx, machine, {
        id: asked.id,
        event: 'complete',
        reason: 'completed',
        ...{ message: 'It is done.', actor: 'w', result: {} },
      }),
    )
  },
  superseded: async (machine) => {
    await ask(machine)
    await ask(machine, { force: true })
  },
  canceled: async (machine) => {
    const { id } = await ask(machine)
    await db.begin((tx) => cancelOperation(tx, { id, by: 'ann' }))
  },
}

/** With an entry of a migration behind it, which has tests of its own. */
const isRefused: Way = async (machine, reason) => {
  const why = { code: reason, class: 'conflict', message: 'No.', remedy: 'None.' } as const
  await recordRefusal(db, askOf(machine), new DroverError({ ...why, detail: { blocker: null } }))
}

const refusals: Partial<Record<OperationReason, Way>> = {
  'machine-gone': refuses((id) => db`update machine set gone_at = now() where id = ${id}::uuid`),
  'not-for-run-policy': refuses(
    (id) => db`update machine set run_policy = 'always-on' where id = ${id}::uuid`,
  ),
  'not-for-phase': refuses((id) => db`update machine set power = 'off' where id = ${id}::uuid`),
  blocked: refuses((id) => ask(id, { kind: 'snapshot' })),
  'past-return': refuses(async (machine) => {
    const { id } = await ask(machine, { kind: 'migrate' })
    await db`update operation set past_return = true where id = ${id}::uuid`
  }),
  'queue-full': refuses(
    async (machine) => {
      for (let many = 0; many < 11; many += 1) await ask(machine, { onConflict: 'queue' })
    },
    { onConflict: 'queue' },
  ),
  'host-unknown': refuses(
    async (id) => {
      const [machine] = await db<{ targetId: string }[]>`select target_id from machine where id = ${id}::uuid`
      await db`insert into host (id, site_id, ref, name, hash, revision, facts) values
        (gen_random_uuid(), ${machine?.targetId ?? ''}::uuid, 'host-9', 'esx-9', '', 1, '{}')`
    },
    { kind: 'migrate', params: { host: 'esx-8' } },
  ),
  'in-migration': (machine, reason) => isRefused(machine, reason),
  migrated: (machine, reason) => isRefused(machine, reason),
  'unproven-copy': (machine, reason) => isRefused(machine, reason),
  'runs-elsewhere': (machine, reason) => isRefused(machine, reason),
  'starts-elsewhere': (machine, reason) => isRefused(machine, reason),
}

/** The first number of each series of that name and those labels, summed up. */
const metric = async (name: string, labels: Record<string, string>): Promise<number> => {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`)
  return (await metricsText()).body
    .split('\n')
    .filter((line) => line.startsWith(`drover_${name}{`) && wanted.every((part) => line.includes(part)))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
}

const total = async (outcome: string, reason: string): Promise<number> => {
  while ((await foldOperationEnds(db, 1_000)) > 0);
  await showOperations(db, 15_000)
  return metric('operations_total', { outcome, reason })
}

const told = async (machine: string, type: string, reason: string): Promise<number> => {
  const rows = await db`select 1 from event where type = ${type} and detail ->> 'machine' = ${machine}
    and detail ->> 'reason' = ${reason}`
  return rows.length
}

type Case = readonly [outcome: string, reason: OperationReason, way: Way]
const casesOf = (outcome: string, ways: Partial<Record<OperationReason, Way>>): Case[] =>
  Object.entries(ways).map(([reason, way]) => [outcome, reason as OperationReason, way])
const cases = [
  ...casesOf('failed', failures),
  ...Object.entries(otherEnds).map(([reason, way]): Case => [reason, reason as OperationReason, way]),
  ...casesOf('refused', refusals),
]

test.each(cases)('an operation that is %s with %s is counted once and told of once', async (...given) => {
  const [outcome, reason, way] = given
  const machine = await addMachine(db, { power: 'on' })
  const before = await total(outcome, reason)
  await way(machine, reason)
  expect((await total(outcome, reason)) - before).toBe(1)
  expect(await told(machine, `operation.${outcome}`, reason)).toBe(1)
})

test('a cancel that comes too late is counted each time, and told of once a minute to each person', async () => {
  const machine = await addMachine(db, { power: 'on' })
  const { id } = await ask(machine, { kind: 'migrate' })
  await db`update operation set past_return = true where id = ${id}::uuid`
  await cancelRefused(id)
  await cancelRefused(id)
  expect(await total('cancel-refused', 'past-return')).toBe(2)
  expect(await told(machine, 'operation.cancel-refused', 'past-return')).toBe(1)
  await db`update operation set past_return = false where id = ${id}::uuid`
  await db.begin((tx) => cancelOperation(tx, { id, by: 'ann' }))
  await cancelRefused(id)
  await cancelRefused('0199c0de-0000-7000-8000-000000000000')
  expect(await total('cancel-refused', 'operation-ended')).toBe(1)
  expect(await told(machine, 'operation.cancel-refused', 'operation-ended')).toBe(1)
  const [event] = await db`select actor, subject_type, subject_id, detail from event
    where type = 'operation.cancel-refused' and detail ->> 'reason' = 'operation-ended'`
  expect(event).toEqual({
    ...{ actor: 'ann', subjectType: 'operation', subjectId: id },
    detail: { machine, kind: 'migrate', force: false, cause: 'person', reason: 'operation-ended' },
  })
})

/** How a job says what its operation waits for. */
const waiting = (reason: string) => (jobId: string) =>
  db`
  update job set state = 'waiting', wait_reason = ${reason}, wait_since = now(), wait_until = now() + interval '1 hour'
  where id = ${jobId}::uuid`

const addWorker = () => db`
  insert into worker (id, role, host, pid, version, kinds, slots)
  values (gen_random_uuid(), 'worker', 'here', 1, '1', '{"operate-machine": 1}', '{}')`

const openWays: Partial<Record<OperationReason, (jobId: string) => Promise<unknown>>> = {
  'no-worker': async () => undefined,
  admitted: addWorker,
  retrying: (jobId) =>
    db`update job set run_after = now() + interval '1 hour', error = '{}' where id = ${jobId}::uuid`,
  paused: () => db`insert into pause (scope, name, reason, paused_by)
    values ('kind', 'operate-machine', 'a storm', 'ann')`,
  'awaiting-slot': waiting('token'),
  ...Object.fromEntries(
    (
      [
        ...([
          'awaiting-older',
          'waiting-for-guest',
          'host-full',
          'target-busy',
          'target-unreachable',
        ] as const),
        ...(['target-fails', 'in-progress', 'no-host-fits', 'other-move', 'move-scheduling'] as const),
        ...(['move-preparing', 'move-syncing', 'move-switching'] as const),
      ] as const
    ).map((reason) => [reason, waiting(reason)]),
  ),
}

test.each(Object.entries(openWays))('an open operation that is %s is shown as such', async (reason, way) => {
  const { id, jobId } = await ask(await addMachine(db, { power: 'on' }))
  const before = await metric('operations_open', { state: 'pending', reason })
  await way(jobId ?? '')
  await showOperations(db, 15_000)
  expect(await metric('operations_open', { state: 'pending', reason })).toBeGreaterThan(before)
  expect(await metric('operations_oldest_seconds', { state: 'pending', reason })).toBeGreaterThan(0)
  await db`delete from pause`
  await db`delete from worker`
  await db.begin((tx) => cancelOperation(tx, { id, by: 'ann' }))
  await showOperations(db, 15_000)
})

test('every reason there is comes about in this file, as an end, a refusal or where an open one is', () => {
  const all = [failures, otherEnds, refusals, openWays, { queued: true }].flatMap((ways) => Object.keys(ways))
  expect(Object.keys(operationReasons).filter((reason) => !all.includes(reason))).toEqual([])
})
