import { v7 as uuidv7 } from 'uuid'
import { test } from 'vitest'
import type { Db, Tx } from '../../db/client.ts'
import { lockBatch, moveBatch } from '../../db/queries/batches/batch-rows.ts'
import { lockEntry } from '../../db/queries/entries/entry-rows.ts'
import { cancelIdleJob, lockJob, requestJobCancel } from '../../db/queries/jobs/cancel-job.ts'
import { redriveJob } from '../../db/queries/jobs/redrive-job.ts'
import { wakeTimedOutWaits } from '../../db/queries/leases/wake-timed-out-waits.ts'
import { findOperation, insertOperation, moveOperation } from '../../db/queries/operations/operation-rows.ts'
import { waitForTokens } from '../../db/queries/tokens/tokens.ts'
import { type JobEvent, type JobState, jobTable } from '../../src/domain/job/state.ts'
import { type BatchEvent, type BatchState, batchTable } from '../../src/domain/migration/batch/batch-table.ts'
import type { EntryStage, EntryState } from '../../src/domain/migration/entry/entry.ts'
import { type EntryEvent, entryTable } from '../../src/domain/migration/entry/entry-table.ts'
import {
  type OperationEvent,
  type OperationState,
  operationTable,
} from '../../src/domain/operation/kinds/state.ts'
import { sweepDeadlines, sweepLeases } from '../../src/ledger/conductor/sweeps.ts'
import { finishGroup, settle } from '../../src/ledger/jobs/settle.ts'
import { finishBatches } from '../../src/migration/batch/end-batches.ts'
import { moveEntry, placeOf } from '../../src/migration/entry/apply-entry.ts'
import { addInstance, addSite } from '../api/inventory/inventory-rows.ts'
import { addOne, claim, expire, jobOf, mustClaim } from '../support/ledger.ts'
import { addMachine } from '../support/machines.ts'
import { createDatabase } from '../support/postgres.ts'
import { checkEnforced, type Harness } from '../support/state-table-model.ts'
import { sampleInstance } from '../unit/inventory/samples.ts'

const { db } = await createDatabase()

const by = { by: 'test', reason: 'The test wants it.' }
const inTransaction = (work: (tx: Tx) => Promise<unknown>) => (db as Db).begin(work)

const eventsOf = async (type: string, id: string): Promise<number> => {
  const rows = await db`
    select from event where type like ${`${type}.%`} and (subject_id = ${id} or job_id::text = ${id})`
  return rows.length
}

// --- Jobs: each event the way that a worker, the conductor or a person takes.

const settled = async (id: string, event: JobEvent, more: object = {}): Promise<void> => {
  const { leaseEpoch } = await jobOf(db, id)
  await settle(db, { id, epoch: leaseEpoch, event, actor: 'test', ...more })
}

const forAWhile = { wait: { reason: 'signal', detail: 'the test', untilMs: 600_000, signal: null } }

const withLock = (id: string, work: (tx: Tx, job: { id: string; state: JobState }) => Promise<unknown>) =>
  inTransaction(async (tx) => {
    const job = await lockJob(tx, id)
    if (!job) throw new Error(`There is no job ${id}.`)
    await work(tx, job)
  })

const jobEvents: Readonly<Record<JobEvent, (id: string) => Promise<unknown>>> = {
  claim: async (id) => claim(db, id, { generation: (await jobOf(db, id)).generation }),
  'wait-for-tokens': async (id) => {
    const { generation } = await jobOf(db, id)
    const wait = { jobId: id, generation, reason: 'token', detail: 'a token', actor: 'test' } as const
    await inTransaction((tx) => waitForTokens(tx, { ...wait, untilMs: 600_000 }))
  },
  succeed: async (id) => {
    const { leaseEpoch } = await jobOf(db, id)
    await finishGroup(db, [{ id, epoch: leaseEpoch, result: null }], 'test')
  },
  fail: (id) => settled(id, 'fail'),
  retry: (id) => settled(id, 'retry'),
  release: (id) => settled(id, 'release'),
  wait: async (id) => {
    await db`update job set cancel_requested_at = null where id = ${id}::uuid`
    await settled(id, 'wait', forAWhile)
  },
  'wait-over': async (id) => {
    await db`update job set cancel_requested_at = now() where id = ${id}::uuid`
    await settled(id, 'wait', forAWhile)
  },
  'lease-expired': async (id) => {
    await db`update job set lost = 0 where id = ${id}::uuid`
    await expire(db, id)
    await sweepLeases(db)
  },
  'give-up': async (id) => {
    await db`update job set lost = 1000 where id = ${id}::uuid`
    await expire(db, id)
    await sweepLeases(db)
  },
  wake: async (id) => {
    await db`update job set wait_until = now() - interval '1 second' where id = ${id}::uuid and wait_until is not null`
    await wakeTimedOutWaits(db, 1_000)
  },
  'ask-cancel': (id) => withLock(id, (tx, job) => requestJobCancel(tx, job, by)),
  cancel: async (id) => {
    if ((await jobOf(db, id)).state === 'running') return settled(id, 'cancel')
    return withLock(id, (tx, job) => cancelIdleJob(tx, job, by))
  },
  deadline: async (id) => {
    await db`update job set deadline = now() - interval '1 second' where id = ${id}::uuid`
    await sweepDeadlines(db, 0)
  },
  redrive: (id) => inTransaction((tx) => redriveJob(tx, id, 'test')),
}

/** How a job comes where it is, from its claim on. */
const jobEndings: Readonly<Record<JobState, JobEvent | undefined>> = {
  ready: undefined,
  running: undefined,
  waiting: 'wait',
  succeeded: 'succeed',
  failed: 'fail',
  canceled: 'cancel',
}

const jobs: Harness<JobState, JobEvent, never> = {
  plant: async ({ state }) => {
    const id = await addOne(db)
    const ending = jobEndings[state]
    if (state !== 'ready') await mustClaim(db, id)
    if (ending) await jobEvents[ending](id)
    return id
  },
  apply: (id, event) => jobEvents[event](id),
  read: async (id) => ({ state: (await jobOf(db, id)).state as JobState }),
  told: (id) => eventsOf('job', id),
}

// --- Batches and entries, past what a verb asks before it moves them.

const site = await addSite(db, 'paris', { quiet: true })

const addBatch = async (state: string): Promise<{ id: string; name: string }> => {
  const id = uuidv7()
  await db`
    insert into batch (id, name, state, include_expression, defaults, config, created_by)
    values (${id}::uuid, ${`wave-${id}`}, ${state}, 'true', '{}', '{}', 'test')`
  return { id, name: `wave-${id}` }
}

const addEntry = async (batchId: string, state: string, stage: string): Promise<string> => {
  const [id, name] = [uuidv7(), `web-${uuidv7()}`]
  const facts = sampleInstance({ name, ref: `vm-${name}`, uuid: uuidv7() })
  const instance = await addInstance(db, site, { facts })
  await db`
    insert into entry (id, batch_id, instance_id, source_id, state, stage, reason, message, revision, facts, running)
    values (${id}::uuid, ${batchId}::uuid, ${instance}::uuid, ${site}::uuid, ${state}, ${stage}, '', '', 1,
      ${JSON.stringify(facts)}::text::jsonb, true)`
  return id
}

const batches: Harness<BatchState, BatchEvent, never> = {
  plant: async ({ state }) => {
    const { id, name } = await addBatch(state)
    await addEntry(id, 'finished', 'complete')
    return name
  },
  apply: (name, event) =>
    event === 'finish'
      ? finishBatches(db)
      : inTransaction(async (tx) => {
          const batch = await lockBatch(tx, name)
          if (!batch) throw new Error(`There is no batch ${name}.`)
          await moveBatch(tx, { batch, event, message: by.reason, by: by.by })
        }),
  read: async (name) => {
    const [row] = await db<{ state: BatchState }[]>`select state from batch where name = ${name}`
    return row
  },
  told: (name) => eventsOf('batch', name),
}

const wave = await addBatch('running')

const entries: Harness<EntryState, EntryEvent, EntryStage> = {
  plant: ({ state, stage = 'background' }) => addEntry(wave.id, state, stage),
  apply: (id, event) =>
    inTransaction(async (tx) => {
      const entry = await lockEntry(tx, id)
      if (!entry) throw new Error(`There is no entry ${id}.`)
      // Each time another cause: that the same one still blocks it is no news.
      const reason = { code: 'test', message: `It was moved by ${uuidv7()}.` }
      await moveEntry(tx, wave, entry, { event, reason, by: 'test', force: true })
    }),
  read: async (id) => {
    const entry = await inTransaction((tx) => lockEntry(tx, id))
    return entry ? placeOf(entry as never) : undefined
  },
  told: (id) => eventsOf('entry', id),
}

// --- Operations.

const told = { reason: 'failed', message: 'The test did it.', actor: 'test' } as const

const operations: Harness<OperationState, OperationEvent, never> = {
  plant: async ({ state }) => {
    const made = (await inTransaction(async (tx) =>
      insertOperation(tx, {
        ...{ id: uuidv7(), machineId: await addMachine(db), kind: 'stop', force: false, params: {} },
        ...{ onConflict: 'queue', cause: 'person', standsDown: false, resumes: null, deadlineSeconds: 60 },
        ...{ waitSeconds: 600, createdBy: 'test', state: state === 'queued' ? 'queued' : 'pending' },
        ...{ reason: 'admitted', message: 'It may begin.' },
      }),
    )) as { id: string }
    const way: Readonly<Partial<Record<OperationState, readonly OperationEvent[]>>> = {
      running: ['begin'],
      completed: ['begin', 'complete'],
      failed: ['fail'],
      canceled: ['cancel'],
      superseded: ['supersede'],
    }
    for (const event of way[state] ?? [])
      await inTransaction((tx) => moveOperation(tx, { id: made.id, event, ...told }))
    return made.id
  },
  apply: (id, event) => inTransaction((tx) => moveOperation(tx, { id, event, ...told })),
  read: async (id) => {
    const row = await findOperation(db, id)
    return row && { state: row.state }
  },
  told: (id) => eventsOf('operation', id),
}

const mostMs = 180_000

// promise: job-transitions
test('a job moves along its table and along no other way, whoever writes it', { timeout: mostMs }, () =>
  checkEnforced(jobTable, jobs),
)

test('a batch moves along its table and along no other way', { timeout: mostMs }, () =>
  checkEnforced(batchTable, batches),
)

test('an entry moves along its table and along no other way', { timeout: mostMs }, () =>
  checkEnforced(entryTable, entries),
)

// promise: operation-table
test('an operation moves along its table and along no other way', { timeout: mostMs }, () =>
  checkEnforced(operationTable, operations),
)
