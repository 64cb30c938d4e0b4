import { v7 as uuidv7 } from 'uuid'
import { ZodError } from 'zod'
import type { Tx } from '../../../db/client.ts'
import { enqueueJobs, type JobInsert } from '../../../db/queries/jobs/enqueue-jobs.ts'
import { findJobsByKey } from '../../../db/queries/jobs/find-jobs-by-key.ts'
import { limits } from '../../config/config.ts'
import { findKind } from '../../domain/job/kinds/registry.ts'
import type { JobState } from '../../domain/job/state.ts'
import { parseToken } from '../../domain/job/token.ts'
import { DroverError } from '../../errors.ts'
import { currentTraceparent } from '../../process/telemetry.ts'

export interface NewJob {
  readonly kind: string
  readonly payload: unknown
  /** The subject of the job; its effects and events are found by it. */
  readonly subject: { readonly type: string; readonly id: string }
  /** Fair share: lanes take turns. A batch is a lane. */
  readonly lane?: string
  /** -100 to 100; higher goes first. */
  readonly priority?: number
  readonly idempotencyKey?: string
  readonly runAfterMs?: number
  readonly deadline?: Date
  readonly tokens?: readonly string[]
  readonly createdBy: string
  /** W3C traceparent; by default that of the caller's span. */
  readonly trace?: string
}

export interface EnqueuedJob {
  readonly id: string
  readonly kind: string
  readonly state: JobState
  /** True when an earlier identical request has made this job. */
  readonly existing: boolean
}

/**
 * Adds jobs in the caller's transaction: they exist when it commits, and only then. Call `nudge` after the commit for
 * an immediate start. Same idempotency key and payload: the first job is returned.
 */
export const enqueue = async (tx: Tx, jobs: readonly NewJob[]): Promise<EnqueuedJob[]> => {
  const inserts = jobs.map(toInsert)
  // One order for all: two transactions with the same keys wait for each other, never in a cycle.
  const ordered = [...inserts].sort((a, b) => compare(a.idempotencyKey, b.idempotencyKey))
  const inserted = new Set<string>()
  for (let at = 0; at < ordered.length; at += limits.relayBatch)
    for (const id of await enqueueJobs(tx, ordered.slice(at, at + limits.relayBatch))) inserted.add(id)
  if (inserted.size === inserts.length)
    return inserts.map((job) => ({ id: job.id, kind: job.kind, state: 'ready', existing: false }))
  const owners = await findOwners(
    tx,
    inserts.filter((job) => !inserted.has(job.id)),
  )
  return inserts.map((job) =>
    inserted.has(job.id)
      ? { id: job.id, kind: job.kind, state: 'ready' as const, existing: false }
      : existingJob(job, owners),
  )
}

type Owners = ReadonlyMap<string, Awaited<ReturnType<typeof findJobsByKey>>[number]>

const findOwners = async (tx: Tx, refused: readonly JobInsert[]): Promise<Owners> => {
  const asked = refused.map((job) => ({
    idempotencyKey: job.idempotencyKey ?? '',
    kind: job.kind,
    payload: job.payload,
  }))
  const found = await findJobsByKey(tx, asked)
  const different = found.find((job) => !job.same)
  if (different) throw mismatch(different.idempotencyKey, different.id)
  return new Map(found.map((job) => [job.idempotencyKey, job]))
}

const existingJob = (job: JobInsert, owners: Owners): EnqueuedJob => {
  const owner = owners.get(job.idempotencyKey ?? '')
  if (!owner) throw new Error(`Idempotency key ${job.idempotencyKey} was refused, but nobody owns it.`)
  return { id: owner.id, kind: owner.kind, state: owner.state as JobState, existing: true }
}

const mismatch = (key: string, jobId: string): DroverError =>
  new DroverError({
    code: 'idempotency-mismatch',
    class: 'conflict',
    message: `The idempotency key "${key}" belongs to job ${jobId}, which was asked for with something else.`,
    remedy: 'Send the same request again, or use a new key for a new request.',
    field: 'idempotency_key',
    detail: { job_id: jobId },
  })

const compare = (a: string | null, b: string | null): number => ((a ?? '') < (b ?? '') ? -1 : a === b ? 0 : 1)

/** Checked before parsing: an oversized payload is reported as such and costs only its measurement. */
export const requireSmall = (payload: unknown): void => {
  if (Buffer.byteLength(JSON.stringify(payload) ?? '') <= limits.payloadBytes) return
  throw invalid(
    'payload-too-large',
    'payload',
    `The payload is larger than ${limits.payloadBytes} bytes.`,
    'Store the data and send its id.',
  )
}

const toInsert = (job: NewJob): JobInsert => {
  const kind = findKind(job.kind)
  if (!kind)
    throw invalid('kind-unknown', 'kind', `There is no job kind "${job.kind}".`, 'See GET /v1/job-kinds.')
  requireSmall(job.payload)
  const payload = JSON.stringify(parsePayload(job.kind, () => kind.payload.parse(job.payload)))
  const priority = job.priority ?? 0
  if (!Number.isInteger(priority) || priority < -100 || priority > 100)
    throw invalid(
      'priority-invalid',
      'priority',
      'priority must be a whole number from -100 to 100.',
      'Use 0 for normal work.',
    )
  const tokens = [...new Set(job.tokens ?? [])]
  const unknown = tokens.find((token) => !parseToken(token))
  if (unknown !== undefined)
    throw invalid(
      'token-invalid',
      'tokens',
      `"${unknown}" is not an admission token.`,
      'Use class/thing with a known class: see GET /v1/limits.',
    )
  return {
    id: uuidv7(),
    kind: job.kind,
    subjectType: job.subject.type,
    subjectId: job.subject.id,
    idempotencyKey: job.idempotencyKey ?? null,
    payload,
    payloadVersion: kind.version,
    priority,
    lane: job.lane ?? 'default',
    runAfterMs: job.runAfterMs ?? 0,
    deadline: job.deadline ?? null,
    tokens,
    trace: job.trace ?? currentTraceparent() ?? null,
    createdBy: job.createdBy,
  }
}

const parsePayload = (kind: string, parse: () => unknown): unknown => {
  try {
    return parse()
  } catch (error) {
    if (!(error instanceof ZodError)) throw error
    const [issue] = error.issues
    const field = ['payload', ...(issue?.path ?? [])].join('.')
    throw new DroverError(
      {
        code: 'payload-invalid',
        class: 'config',
        message: `The payload of ${kind} is not valid: ${field}: ${issue?.message ?? 'unknown'}.`,
        remedy: `Correct ${field}; GET /v1/job-kinds shows the schema.`,
        field,
        detail: {
          issues: error.issues
            .slice(0, 20)
            .map((i) => ({ field: ['payload', ...i.path].join('.'), message: i.message })),
        },
      },
      { cause: error },
    )
  }
}

const invalid = (code: string, field: string, message: string, remedy: string): DroverError =>
  new DroverError({ code, class: 'config', message, remedy, field })
