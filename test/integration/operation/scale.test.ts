import { expect, test } from 'vitest'
import type { Queryable } from '../../../db/client.ts'
import { findMachinesToLookAt } from '../../../db/queries/machines/find-machines-to-look-at.ts'
import { findPolicyMachines } from '../../../db/queries/machines/policy-machines.ts'
import { listOperations, type OperationFilter } from '../../../db/queries/operations/list-operations.ts'
import { measureOpenOperations } from '../../../db/queries/operations/measure-operations.ts'
import { pruneOperations, pruneStart } from '../../../db/queries/operations/prune-operations.ts'
import { findResumptions } from '../../../db/queries/operations/resume-evacuation.ts'
import { findHealedMachines } from '../../../db/queries/operations/still-active.ts'
import { resumptionBounds } from '../../../src/domain/operation/admission/operation-followups.ts'
import { makeSite } from '../../support/inventory.ts'
import { readingOf } from '../../support/plans.ts'
import { createDatabase } from '../../support/postgres.ts'

// What the conductor does twice a second must cost what is open, not what there has ever been: on 10,000 machines with
// 100,000 ended operations, what Postgres reads for it is counted. So is a page of what people look for among them.

const { db } = await createDatabase()
const open = 1_000
const { id: target } = await makeSite(db, { role: 'target', name: 'cloud', connectivity: 'ok', quiet: true })

/** Nearly all are as their run policy wants them; every hundredth is not. */
await db`
  insert into machine (id, target_id, ref, name, uuid, project, host, power, cpus, memory, run_policy, origin)
  select md5(i::text)::uuid, ${target}::uuid, 'vm-' || i, 'vm-' || i, md5(i::text), 'default', 'node-' || i % 50,
    case when i % 100 = 0 then 'off' else 'on' end, 1, 1073741824, case when i % 2 = 0 then 'always-on' else 'manual' end,
    'adopted' from generate_series(1, 10000) i`
// Ids fall with age. What is rare lies half-way down, and so do all of one machine: nothing near the top fits.
// A statement has fifteen seconds, and machines that run tests have much to do.
for (let first = 1; first <= 100_000; first += 10_000)
  await db`
    insert into operation (id, machine_id, kind, state, reason, message, on_conflict, deadline_seconds, expires_at, created_by,
      finished_at, settled_at, stands_down, leaves, come_back_at, cause)
    select (lpad(to_hex(100000 - i), 12, '0') || '7000' || '8000' || lpad('', 12, '0'))::uuid,
      md5((case when i between 50001 and 51000 then 77 when i % 10000 = 77 then 78 else i % 10000 end)::text)::uuid,
      case when i between 50001 and 50100 then 'migrate' else 'evict' end,
      case when i between 50101 and 50200 then 'failed' when i between 50201 and 50300 then 'canceled'
        else 'completed' end,
      case when i between 50101 and 50200 then 'host-full' when i between 50201 and 50300 then 'canceled'
        else 'completed' end,
      'It is done.', 'reject', 60, now(), 'test', now() - i * interval '1 second', now(), i % 200 = 0, 'node-x',
      case when i % 200 = 0 then now() end, case when i between 50301 and 50400 then 'policy' else 'person' end
    from generate_series(${first}::int, ${first + 9_999}::int) i`
const [{ id: machine = '' } = {}] = await db<{ id: string }[]>`select md5('77')::uuid as id`
await db`
  with made as (
    insert into job (id, kind, subject_type, subject_id, payload, payload_version, state, bell, lane, created_by,
      wait_reason, wait_since, wait_until)
    select gen_random_uuid(), 'operate-machine', 'operation', i::text, '{}', 1, 'waiting', 'due', 'machines/person',
      'test', 'in-progress', now(), now() + interval '1 hour' from generate_series(1, ${open}::int) i
    returning id, subject_id::int as i
  )
  insert into operation (id, machine_id, kind, state, reason, message, on_conflict, deadline_seconds, expires_at,
    created_by, started_at, deadline_at, job_id, cause)
  select gen_random_uuid(), md5((i * 7)::text)::uuid, 'stop', 'running', 'in-progress', 'It is under way.', 'reject', 60,
    now() + interval '1 hour', 'test', now(), now() + interval '1 hour', id,
    case when i = 1 then 'policy' else 'person' end from made`
// And what waits behind them, for a turn that comes late.
await db`
  insert into operation (id, machine_id, kind, state, reason, message, on_conflict, deadline_seconds, expires_at,
    created_by)
  select gen_random_uuid(), md5((i * 7)::text)::uuid, 'start', 'queued', 'queued', 'One is before it.', 'queue', 60,
    now() + interval '1 hour', 'test' from generate_series(1, ${open}::int) i`
await db`
  insert into job (id, kind, subject_type, subject_id, payload, payload_version, state, bell, lane, created_by, finished_at)
  select gen_random_uuid(), 'operate-machine', 'operation', i::text, '{}', 1, 'succeeded', 'due', 'machines/person',
    'test', now() from generate_series(1, 50000) i`
// Warnings about machines that nothing here has to do with, and a few of ours.
await db`
  insert into warning (id, type, entity_type, entity_id, entity_name, messages, status)
  select gen_random_uuid(), case when i % 1000 = 0 then 'policy-fails' else 'other-' || i % 7 end, 'machine',
    md5(i::text)::uuid::text, 'vm-' || i, '{}', 'new' from generate_series(1, 10000) i`
await db`analyze`

/** A page of what fits. */
const list = (filter: OperationFilter) => (read: Queryable) =>
  listOperations(read, filter, { before: undefined, limit: 26, silentMs: 1_000 })
const ended = ['completed', 'failed', 'canceled', 'superseded']

const look = { limit: 200, stillActiveSeconds: 120, overdueSeconds: 3, runningOverdueSeconds: 60 }

test.each<[string, number, (read: Queryable) => Promise<unknown>]>([
  ['machines to look at', 5 * open, (read) => findMachinesToLookAt(read, look)],
  ['open operations, for the metrics', 4 * open, (read) => measureOpenOperations(read, 15_000)],
  [
    'machines that are not as their policy wants them',
    5 * open,
    (read) => findPolicyMachines(read, { limit: 20, openPerTarget: 50 }),
  ],
  ['warnings whose cause is over', 100, (read) => findHealedMachines(read, 200)],
  [
    'evacuations that come back',
    3_000,
    (read) => findResumptions(read, { bounds: resumptionBounds, limit: 50 }),
  ],
  [
    'a batch of what is old, at the end of a long history',
    5_000,
    (read) => pruneOperations(read, { days: 0, keep: 10, limit: 100, after: pruneStart }),
  ],
  // A row is read with its machine and its target, and those it looks for beside it.
  ['the newest operations', 400, list({})],
  ['operations of a machine', 400, list({ machine })],
  ['ended operations of a machine', 400, list({ machine, state: ended })],
  ['failed operations', 400, list({ state: ['failed'] })],
  ['operations that failed or were canceled', 400, list({ state: ['failed', 'canceled'] })],
  ['completed operations, below those that are open', 3 * open, list({ state: ['completed'] })],
  ['operations of a kind', 400, list({ kind: ['migrate'] })],
  ['ended operations of a kind', 400, list({ kind: ['migrate'], state: ended })],
  ['operations that policies asked for', 400, list({ cause: 'policy' })],
  ['operations that persons asked for', 400, list({ cause: 'person' })],
  ['operations that ended with a rare reason', 10 * open, list({ reason: 'host-full' })],
  ['operations that ended with the usual reason', 10 * open, list({ reason: 'completed' })],
])('%s: no more than %i rows are read', async (_what, most, ask) => {
  const { rows, scans } = await readingOf(db, ask)
  expect(rows).toBeGreaterThan(0)
  expect(rows, scans.join(', ')).toBeLessThanOrEqual(most)
  expect(scans.filter((scan) => scan.startsWith('Seq Scan of operation'))).toEqual([])
})
