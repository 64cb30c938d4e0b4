import { v7 as uuidv7 } from 'uuid'
import type { Db } from '../../db/client.ts'
import type { ClaimedJob } from '../../db/queries/leases/claim-jobs.ts'
import type { EffectRow } from '../../db/schema/effect.ts'
import type { JobRow } from '../../db/schema/job.ts'
import { systemClock } from '../../src/clock.ts'
import type { JobKind } from '../../src/domain/job/kind.ts'
import { findKind } from '../../src/domain/job/kinds/registry.ts'
import { selfTest } from '../../src/domain/job/kinds/self-test.ts'
import type { Handler, JobContext, Outcome, Undoer, UsePlatform } from '../../src/ledger/job.ts'
import { claimWithTokens } from '../../src/ledger/jobs/admission.ts'
import { claimGroup } from '../../src/ledger/jobs/claim.ts'
import { enqueue, type NewJob } from '../../src/ledger/jobs/enqueue.ts'
import type { Logger } from '../../src/process/log.ts'
import { type Ending, endTurn } from '../../workers/end-turn.ts'
import { LeaseKeeper } from '../../workers/lease-keeper.ts'
import { Runner } from '../../workers/runner.ts'
import { RunningJob } from '../../workers/running-job.ts'
import { quietLog } from './events.ts'

export type Run = (ctx: JobContext) => Promise<Outcome>
export type Undoers = ReadonlyMap<string, Undoer>

/** Long enough that no lease of a test ends by itself, on any machine; tests end leases with `expire`. */
export const leaseMs = 600_000

/** Adds self-test jobs, each with a subject of its own, and gives their ids in order. */
export const add = async (db: Db, ...jobs: Partial<NewJob>[]): Promise<string[]> => {
  const made = jobs.map((job) => ({
    kind: 'self-test',
    payload: {},
    subject: { type: 'test', id: uuidv7() },
    createdBy: 'test',
    ...job,
  }))
  const added = (await db.begin((tx) => enqueue(tx, made))) as { id: string }[]
  return added.map(({ id }) => id)
}

/** The same for one job. */
export const addOne = async (db: Db, job: Partial<NewJob> = {}): Promise<string> => {
  const [id = ''] = await add(db, job)
  return id
}

/** Claims a job as a worker does, with its tokens if it needs any. */
export const claim = async (
  db: Db,
  id: string,
  by: { workerId?: string; generation?: number; version?: number; leaseMs?: number } = {},
): Promise<ClaimedJob | undefined> => {
  const owner = { workerId: by.workerId ?? uuidv7(), leaseMs: by.leaseMs ?? leaseMs }
  const ask = { id, generation: by.generation ?? 1, version: by.version ?? 1 }
  const [answer] = await claimGroup(db, [ask], owner)
  if (answer?.outcome === 'claimed') return answer.job
  if (answer?.outcome !== 'needs-tokens') return undefined
  return claimWithTokens(db, ask, owner)
}

/** The same where the claim must succeed. */
export const mustClaim = async (...asked: Parameters<typeof claim>): Promise<ClaimedJob> => {
  const job = await claim(...asked)
  if (!job) throw new Error(`Job ${asked[1]} could not be claimed.`)
  return job
}

export const jobOf = async (db: Db, id: string): Promise<JobRow> => {
  const [job] = await db<JobRow[]>`select * from job where id = ${id}::uuid`
  if (!job) throw new Error(`There is no job ${id}.`)
  return job
}

export const stateOf = async (db: Db, id: string): Promise<string> => (await jobOf(db, id)).state

export const effectsOf = async (db: Db, id: string): Promise<EffectRow[]> => db<EffectRow[]>`
  select * from effect where job_id = ${id}::uuid order by created_at, id`

/** The story of a job: its events in order, as `type from>to`. */
export const storyOf = async (db: Db, id: string): Promise<string[]> => {
  const rows = await db<{ line: string }[]>`
    select type || ' ' || coalesce(from_state, '') || '>' || coalesce(to_state, '') as line from event
    where job_id = ${id}::uuid and type like 'job.%' order by xid, id`
  return rows.map((row) => row.line)
}

/** Who holds which token: `token job epoch`. */
export const holdsOf = async (db: Db, token: string): Promise<string[]> => {
  const rows = await db<{ jobId: string }[]>`
    select job_id from token_hold where token = ${token} order by acquired_at, job_id`
  return rows.map((row) => row.jobId)
}

/** Makes leases end now, as if their workers had fallen silent long ago. */
export const expire = async (db: Db, ...ids: string[]): Promise<void> => {
  await db`update job set lease_until = now() - interval '1 second'
    where id = any(${ids}::uuid[]) and state = 'running'`
}

/** Makes a held job due, as if its time had passed. */
export const makeDue = async (db: Db, ...ids: string[]): Promise<void> => {
  await db`update job set run_after = now() - interval '1 millisecond', bell = 'due' where id = any(${ids}::uuid[]) and state = 'ready'`
}

/** For work that opens no platform. */
export const noPlatform: UsePlatform = () => Promise.reject(new Error('This test opens no platform.'))

export const handlerOf = (run: Run, undoers: Undoers = new Map(), kind: JobKind = selfTest): Handler => ({
  kind,
  run,
  undoers: Object.fromEntries(undoers),
})

/** What a handler of the job would be given. */
export const contextOf = (db: Db, job: ClaimedJob, usePlatform: UsePlatform = noPlatform): RunningJob =>
  new RunningJob({
    db,
    job,
    kind: findKind(job.kind) ?? selfTest,
    clock: systemClock,
    log: quietLog,
    usePlatform,
  })

/** Ends the turn of a claimed job as a worker does. */
export const end = (
  db: Db,
  job: ClaimedJob,
  ending: Ending,
  options: { undoers?: Undoers; ctx?: RunningJob } = {},
): Promise<string> => {
  const undoers = options.undoers ?? new Map()
  const handler = handlerOf(() => Promise.reject(new Error('This handler is never run.')))
  const ctx = options.ctx ?? contextOf(db, job)
  return endTurn(ctx, ending, { db, undoers, handler, actor: 'worker/test' })
}

export interface TestWorker {
  readonly id: string
  readonly keeper: LeaseKeeper
  readonly runner: Runner
  /** Follows a bell of the job to its end. */
  follow(id: string, generation?: number): Promise<void>
}

/** A worker of this process without a bell: the test tells it which job to follow. */
export const createWorker = (
  db: Db,
  run: Run,
  options: { undoers?: Undoers; leaseMs?: number; kind?: JobKind; log?: Logger } = {},
): TestWorker => {
  const id = uuidv7()
  const base = {
    db,
    workerId: id,
    leaseMs: options.leaseMs ?? leaseMs,
    clock: systemClock,
    log: options.log ?? quietLog,
  }
  const keeper = new LeaseKeeper(base)
  const undoers = options.undoers ?? new Map()
  const handlers = new Map([['self-test', handlerOf(run, undoers, options.kind)]])
  const runner = new Runner({ ...base, keeper, handlers, undoers, usePlatform: noPlatform })
  return {
    id,
    keeper,
    runner,
    follow: (jobId, generation = 1) => runner.follow('self-test', { id: jobId, generation }),
  }
}
