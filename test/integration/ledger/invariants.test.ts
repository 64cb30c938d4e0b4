import { expect, test } from 'vitest'
import type { Tx } from '../../../db/client.ts'
import { deleteMarker, insertMarker, markerExists } from '../../../db/queries/jobs/self-test-world.ts'
import { DroverError } from '../../../src/errors.ts'
import { done } from '../../../src/ledger/job.ts'
import { sealEvents } from '../../../src/ledger/seals/seal-events.ts'
import { createSealer } from '../../../src/seal/seal.ts'
import type { RunningJob } from '../../../workers/running-job.ts'
import { untilReadable } from '../../support/events.ts'
import { checkInvariants, findViolations } from '../../support/invariants.ts'
import { addOne, contextOf, end, mustClaim, stateOf, type Undoers } from '../../support/ledger.ts'
import { redrive, requestCancel } from '../../support/ledger-verbs.ts'
import { createDatabase } from '../../support/postgres.ts'

const { db } = await createDatabase()
const token = 'host-inbound-moves/host-1'

const effect = (ctx: RunningJob) => {
  const { id: jobId, leaseEpoch: epoch } = ctx.job
  const name = `${jobId}-0`
  return ctx.effect({
    kind: 'self-test-marker',
    platform: 'self-test',
    name,
    undo: { name },
    observe: async () => ({ found: await markerExists(db, name) }),
    act: async () => {
      await insertMarker(db, { jobId, name, epoch })
      return { externalId: name }
    },
  })
}

const undoers: Undoers = new Map([
  ['self-test-marker', ({ effect: { jobId, name, epoch } }) => deleteMarker(db, { jobId, name, epoch })],
])

const begin = async (id: string, generation = 1): Promise<RunningJob> =>
  contextOf(db, await mustClaim(db, id, { generation }))

const failure = new DroverError({ code: 'no', class: 'permanent', message: 'No.', remedy: 'None.' })
const by = { by: 'test', reason: 'not wanted' }

/** Jobs at every stage, brought there by the ledger itself. */
const prepare = async () => {
  const succeeded = await begin(await addOne(db))
  await effect(succeeded)
  await end(db, succeeded.job, done(), { ctx: succeeded })

  const failed = await begin(await addOne(db))
  await effect(failed)
  await end(db, failed.job, { type: 'thrown', thrown: failure }, { ctx: failed, undoers })
  await redrive(db, failed.job.id, { by: 'test' })
  const again = await begin(failed.job.id, 2)
  await end(db, again.job, { type: 'thrown', thrown: failure }, { ctx: again, undoers })

  const debtor = await begin(await addOne(db))
  await effect(debtor)
  await end(db, debtor.job, { type: 'thrown', thrown: failure }, { ctx: debtor })

  const running = await begin(await addOne(db, { tokens: [token] }))
  await effect(running)
  const waiting = await begin(await addOne(db))
  await end(db, waiting.job, { type: 'wait', reason: 'guest', detail: 'waits for a guest', forMs: 600_000 })
  const ready = await addOne(db)
  const held = await addOne(db, { runAfterMs: 600_000 })
  const canceled = await addOne(db)
  await requestCancel(db, canceled, by)
  const asked = await addOne(db)
  const begun = await begin(asked)
  await requestCancel(db, asked, by)
  await untilReadable(db)
  await sealEvents({ db, sealer: createSealer('5e'.repeat(32)) })
  return {
    succeeded: succeeded.job.id,
    failed: failed.job.id,
    debtor: debtor.job.id,
    running: running.job.id,
    waiting: waiting.job.id,
    ready,
    held,
    canceled,
    asked: begun.job.id,
  }
}

const jobs = await prepare()

/** What the checker finds after a change that is never committed. */
const after = async (corrupt: (tx: Tx) => Promise<unknown>): Promise<string[]> => {
  let found: string[] = []
  const undo = new Error('never committed')
  await db
    .begin(async (tx) => {
      // The checker must not lean on what the schema refuses anyway.
      await tx`alter table job drop constraint job_bell, drop constraint job_end, drop constraint job_lease,
        drop constraint job_state, drop constraint job_wait`
      await corrupt(tx)
      found = await findViolations(tx)
      throw undo
    })
    .catch((error: unknown) => {
      if (error !== undo) throw error
    })
  return found
}

test('jobs at every stage that the ledger itself brought there violate nothing', async () => {
  expect(await stateOf(db, jobs.running)).toBe('running')
  expect(await stateOf(db, jobs.waiting)).toBe('waiting')
  expect(await stateOf(db, jobs.debtor)).toBe('failed')
  const [sealed] = await db<{ seals: number }[]>`select count(*)::int as seals from event_seal`
  expect(sealed?.seals).toBeGreaterThan(0)
  expect(await checkInvariants(db)).toEqual([])
  expect(await after(async () => {})).toEqual([])
})

const id = (name: keyof typeof jobs) => (tx: Tx) => tx`id = ${jobs[name]}::uuid`
const ofJob = (name: keyof typeof jobs) => (tx: Tx) => tx`job_id = ${jobs[name]}::uuid`

type Corruption = readonly [name: string, corrupt: (tx: Tx) => Promise<unknown>, sentence: RegExp]

const corruptions: readonly Corruption[] = [
  [
    'a job that is not found by its lane',
    async (tx) => tx`update job_search set lane = 'elsewhere' where ${ofJob('ready')(tx)}`,
    /^search: /,
  ],
  [
    'a job that nothing finds',
    async (tx) => tx`delete from job_search where ${ofJob('running')(tx)}`,
    /^search: /,
  ],
  [
    'a running job without a lease',
    async (tx) => tx`update job set lease_until = null where ${id('running')(tx)}`,
    /^rest: .* running without a lease/,
  ],
  [
    'a lease that ended long ago',
    async (tx) => tx`update job set lease_until = now() - interval '1 hour' where ${id('running')(tx)}`,
    /^rest: .* its lease ended/,
  ],
  [
    'a lease of a job that does not run',
    async (tx) => tx`update job set lease_until = now() where ${id('ready')(tx)}`,
    /^rest: .* still has a lease/,
  ],
  [
    'a bell that nobody rings',
    async (tx) => tx`update job set bell = 'none' where ${id('ready')(tx)}`,
    /^rest: .* nobody will ring/,
  ],
  [
    'a bell that is out since never',
    async (tx) => tx`update job set bell = 'rung' where ${id('ready')(tx)}`,
    /^rest: the bell .* since never/,
  ],
  [
    'a held job that was forgotten',
    async (tx) => tx`update job set run_after = now() - interval '1 hour' where ${id('held')(tx)}`,
    /^rest: .* is held, but was due/,
  ],
  [
    'a wait without an end',
    async (tx) => tx`update job set wait_until = null where ${id('waiting')(tx)}`,
    /^rest: .* waits without/,
  ],
  [
    'a wait without a reason',
    async (tx) => tx`update job set wait_reason = null where ${id('waiting')(tx)}`,
    /^rest: .* waits without/,
  ],
  [
    'a wait that was forgotten',
    async (tx) => tx`update job set wait_until = now() - interval '1 hour' where ${id('waiting')(tx)}`,
    /^rest: .* still waits/,
  ],
  [
    'an end without a moment',
    async (tx) => tx`update job set finished_at = null where ${id('succeeded')(tx)}`,
    /^rest: .* finished_at/,
  ],
  [
    'a state that nobody knows',
    async (tx) => tx`update job set state = 'lost' where ${id('ready')(tx)}`,
    /^rest: .* unknown state lost/,
  ],
  [
    'a state that no event led to',
    async (tx) => tx`update job set state = 'failed', finished_at = now() where ${id('succeeded')(tx)}`,
    /^history: .* is failed, but its events/,
  ],
  [
    'a job without an event',
    async (tx) => tx`delete from event where ${ofJob('ready')(tx)}`,
    /^history: .* no event at all/,
  ],
  [
    'an event that is missing',
    async (tx) => tx`delete from event where ${ofJob('failed')(tx)} and type = 'job.redriven'`,
    /^history: .* leave it/,
  ],
  [
    'a transition that the table forbids',
    async (tx) =>
      tx`update event set from_state = 'waiting' where ${ofJob('succeeded')(tx)} and type = 'job.succeeded'`,
    /^history: .* has job.succeeded from waiting/,
  ],
  [
    'a job that was created twice',
    async (tx) =>
      tx`insert into event (type, subject_type, subject_id, job_id, actor, to_state) values ('job.created', 'test', 'x', ${jobs.ready}::uuid, 'test', 'ready')`,
    /^history: .* has job.created/,
  ],
  [
    'epochs that do not increase',
    async (tx) =>
      tx`update event set detail = '{"epoch": 1}' where ${ofJob('failed')(tx)} and type = 'job.running'`,
    /^turns: .* was claimed at epoch 1 after epoch 1/,
  ],
  [
    'an epoch without a claim',
    async (tx) => tx`update job set lease_epoch = 7 where ${id('running')(tx)}`,
    /^turns: .* is at epoch 7/,
  ],
  [
    'an outcome of an epoch that nobody claimed',
    async (tx) =>
      tx`update event set detail = '{"epoch": 9}' where ${ofJob('succeeded')(tx)} and type = 'job.succeeded'`,
    /^turns: job.succeeded .* carries epoch 9/,
  ],
  [
    'an outcome of a worker that was fenced',
    async (tx) =>
      tx`insert into event (type, subject_type, subject_id, job_id, actor, from_state, to_state, detail) values ('job.retried', 'test', 'x', ${jobs.failed}::uuid, 'zombie', 'running', 'ready', '{"epoch": 1}')`,
    /^turns: epoch 1 of job .* ended 2 times/,
  ],
  [
    'two outcomes in one generation',
    async (tx) =>
      tx`insert into event (type, subject_type, subject_id, job_id, actor, from_state, to_state, detail) values ('job.succeeded', 'test', 'x', ${jobs.succeeded}::uuid, 'zombie', 'running', 'succeeded', '{"epoch": 1}')`,
    /^outcomes: generation 1 of job .* has 2 outcomes/,
  ],
  [
    'a generation that nobody started',
    async (tx) => tx`update job set generation = 5 where ${id('ready')(tx)}`,
    /^outcomes: .* in generation 5/,
  ],
  [
    'an effect without a job',
    async (tx) => tx`delete from job where ${id('debtor')(tx)}`,
    /^effects: .* has no job/,
  ],
  [
    'an effect of an epoch to come',
    async (tx) => tx`update effect set epoch = 9 where ${ofJob('succeeded')(tx)}`,
    /^effects: .* at epoch 9/,
  ],
  [
    'an effect that a failed job left unseen',
    async (tx) => tx`update effect set state = 'done' where ${ofJob('debtor')(tx)}`,
    /^effects: .* is failed, but .* still done/,
  ],
  [
    'an effect that a canceled job left unseen',
    async (tx) => tx`update effect set job_id = ${jobs.canceled}::uuid where ${ofJob('succeeded')(tx)}`,
    /^effects: .* is canceled, but .* still done/,
  ],
  [
    'an intent that a succeeded job left open',
    async (tx) => tx`update effect set state = 'intended' where ${ofJob('succeeded')(tx)}`,
    /^effects: .* is succeeded, but .* still intended/,
  ],
  [
    'a debt that nobody will settle',
    async (tx) => tx`update effect set next_try_at = null where ${ofJob('debtor')(tx)}`,
    /^effects: the debt .* no next try/,
  ],
  [
    'an effect that nobody waived',
    async (tx) => tx`update effect set state = 'waived' where ${ofJob('debtor')(tx)}`,
    /^effects: .* waived by nobody/,
  ],
  [
    'a token held by a job that is over',
    async (tx) =>
      tx`insert into token_hold (token, job_id, epoch) values (${token}, ${jobs.succeeded}::uuid, 1)`,
    /^tokens: .* which is succeeded/,
  ],
  [
    'a token held by no job',
    async (tx) => tx`insert into token_hold (token, job_id, epoch) values (${token}, gen_random_uuid(), 1)`,
    /^tokens: .* which is gone/,
  ],
  [
    'a token held under an old epoch',
    async (tx) => tx`update token_hold set epoch = 9`,
    /^tokens: .* at epoch 9/,
  ],
  [
    'a job that runs without its token',
    async (tx) => tx`delete from token_hold`,
    /^tokens: job .* runs without host-inbound-moves/,
  ],
  [
    'more holds than the limit',
    async (tx) => tx`insert into admission_limit (name, capacity, updated_by) values (${token}, 0, 'test')`,
    /^tokens: .* held 1 times, more than 0/,
  ],
  [
    'an effect that was repeated',
    async (tx) => insertMarker(tx as never, { jobId: jobs.succeeded, name: `${jobs.succeeded}-0`, epoch: 1 }),
    /^world: .* made again while it was there/,
  ],
  [
    'an effect that vanished',
    async (tx) => tx`delete from self_test.marker where ${ofJob('succeeded')(tx)}`,
    /^world: .* made 1 times and removed 0 times, and is not there/,
  ],
  [
    'a success whose effect was undone',
    async (tx) => deleteMarker(tx as never, { jobId: jobs.succeeded, name: `${jobs.succeeded}-0`, epoch: 1 }),
    /^world: .* is gone, but its effect is done/,
  ],
  [
    'a success without its effects',
    async (tx) => tx`update job set payload = '{"effects": 2}' where ${id('succeeded')(tx)}`,
    /^world: job .* succeeded with 1 of its 2 effects/,
  ],
  [
    'a thing outside that no call made',
    async (tx) => tx`insert into self_test.marker (name, job_id) values ('stray', ${jobs.ready}::uuid)`,
    /^world: stray is there, but nobody called/,
  ],
  [
    'a thing outside that the ledger believes undone',
    async (tx) => tx`update effect set state = 'undone' where ${ofJob('succeeded')(tx)}`,
    /^world: .* is there, but its effect is undone/,
  ],
  [
    'a call before its intent',
    async (tx) =>
      tx`update effect set created_at = now() + interval '1 hour' where ${ofJob('succeeded')(tx)}`,
    /^world: .* before its intent/,
  ],
  [
    'a call without an intent',
    async (tx) => tx`delete from effect where ${ofJob('succeeded')(tx)}`,
    /^world: .* before its intent/,
  ],
  [
    'an event that was rewritten',
    async (tx) =>
      tx`update event set actor = 'nobody' where ${ofJob('succeeded')(tx)} and type = 'job.created'`,
    /^seals: 1: /,
  ],
  [
    'an event that was removed',
    async (tx) => tx`delete from event where type like 'effect.%'`,
    /^seals: 1: /,
  ],
]

test.each(corruptions)('%s is found', async (_name, corrupt, sentence) => {
  expect(await after(corrupt)).toContainEqual(expect.stringMatching(sentence))
})

test('what is only late is no violation before its time', async () => {
  const late = (tx: Tx) =>
    tx`update job set lease_until = now() - interval '5 seconds' where ${id('running')(tx)}`
  expect(await after(async (tx) => late(tx))).toEqual([])
})
