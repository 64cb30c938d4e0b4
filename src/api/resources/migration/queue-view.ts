import { z } from '@hono/zod-openapi'
import type { Queryable } from '../../../../db/client.ts'
import {
  countEntryEffects,
  type EntryDetail,
  type EntryLine,
} from '../../../../db/queries/entries/list-entries.ts'
import { getJob } from '../../../../db/queries/jobs/get-job.ts'
import { diffFacts } from '../../../domain/inventory/changes.ts'
import type { EffectiveFacts } from '../../../domain/inventory/overrides.ts'
import { type EntryPlace, entryStages, entryStates } from '../../../domain/migration/entry/entry.ts'
import { entryVerbs } from '../../../domain/migration/entry/entry-table.ts'
import { explainReason } from '../../../domain/migration/entry/reasons.ts'
import type { Placement } from '../../../domain/migration/place/placement.ts'
import { paceOf, readProgress, stallOf } from '../../../domain/migration/schedule/progress-pace.ts'
import { diffCommitted } from '../../../domain/migration/verify/verify-compare.ts'
import { hasLeftovers } from '../../../migration/entry/entry-verbs.ts'
import { projectWindow } from '../../../migration/entry/project-window.ts'
import { readChoices } from '../../../migration/entry/read-choices.ts'
import { moment, momentOrNull } from '../../http/route.ts'
import { anything, timestamp } from '../../wire/schemas.ts'
import { toWire } from '../../wire/wire.ts'
import { awayOf, downSchema, viewDown } from '../fleet/down-view.ts'
import { viewJob } from '../jobs/job-view.ts'
import { choicesSchema } from './entry-choices.ts'

const progressSchema = z
  .object({
    phase: z.string().openapi({
      description:
        'Of the work that runs; `copied` when nobody copies: then the bytes are all that were copied to its machine, ' +
        'over all copies.',
    }),
    bytes_done: z.number(),
    bytes_total: z.number(),
    bytes_per_second: z.number().nullable().openapi({
      description: 'Over the last seconds; 0: nothing moves. Null: nothing runs, or not known yet.',
    }),
    eta_seconds: z.number().nullable(),
    last_progress_at: timestamp
      .nullable()
      .openapi({ description: 'When the work that runs last came further.' }),
  })
  .openapi('EntryProgress')

const summaryShape = {
  id: z.uuid(),
  batch: z.string(),
  instance_id: z.uuid(),
  name: z.string(),
  source: z.string(),
  target: z.string().nullable(),
  state: z.enum(entryStates),
  stage: z.enum(entryStages),
  reason: z.string().openapi({ description: 'Why it is where it is; stable, for programs.' }),
  message: z.string(),
  since: timestamp,
  next_look_at: timestamp.openapi({ description: 'By then somebody looks again, whatever happens.' }),
  window: z.string().nullable().openapi({ description: 'The one it holds.' }),
  running: z.boolean().openapi({ description: 'Whether the target runs at the end.' }),
  job: z.object({ id: z.uuid(), kind: z.string(), state: z.string() }).nullable(),
  progress: progressSchema.nullable(),
  certificate_id: z.uuid().nullable(),
  down: downSchema.nullable().openapi({
    description:
      'Since when its source is off for the migration, or asked to shut down for it, and until when; null: neither, because of us.',
  }),
  created_at: timestamp,
  finished_at: timestamp.nullable(),
}

export const entrySummary = z.object(summaryShape).openapi('QueueEntrySummary')

export type EntrySummary = z.infer<typeof entrySummary>

const windowSchema = z.object({
  name: z.string(),
  start: timestamp.nullable(),
  end: timestamp.nullable(),
  held: z.boolean().openapi({ description: 'False: the one it would get now.' }),
})

const reasonSchema = z.object({
  code: z.string(),
  message: z.string(),
  remedy: z
    .string()
    .openapi({ description: 'What a person can do about it; empty: nothing has to be done.' }),
  ends_when: z.string(),
  until: timestamp
    .nullable()
    .openapi({ description: 'It is tried again by itself until then; after that a person is asked.' }),
})

export const entrySchema = z
  .object({
    ...summaryShape,
    remedy: z.string().openapi({ description: 'What a person can do now; empty: nothing has to be done.' }),
    ends_when: z.string().openapi({ description: 'What ends the wait that `reason` names.' }),
    window: windowSchema.nullable(),
    reasons: z.array(reasonSchema).openapi({ description: 'All of them, where there are several.' }),
    error: anything.nullable(),
    force: z.boolean(),
    placement: anything.nullable(),
    target_machine: z.string().nullable().openapi({
      description: 'What its target calls the machine of ours there; after a cancel: what that left.',
    }),
    why_here: z
      .array(z.object({ what: z.string(), value: z.string(), because: z.string() }))
      .openapi({ description: 'Which step of the placement decided what.' }),
    script_log: z.array(z.string()),
    pending: z
      .array(z.object({ path: z.string(), from: z.unknown(), to: z.unknown() }))
      .openapi({ description: 'What changed and waits for a person; nothing of it is in the record.' }),
    wait: anything.nullable().openapi({ description: 'Why its job does not run now.' }),
    stall: z
      .object({ cause: z.string(), message: z.string(), since: timestamp })
      .nullable()
      .openapi({ description: 'What keeps it from progress for a minute and more.' }),
    away: z
      .array(z.object({ role: z.string(), name: z.string(), since: timestamp, message: z.string() }))
      .openapi({ description: 'The platforms on its way that do not answer, and since when.' }),
    source_stopped_at: timestamp
      .nullable()
      .openapi({ description: 'When it was asked to go off; null: it was not, or it runs again.' }),
    source_off_at: timestamp.nullable().openapi({ description: 'When it was seen off after that.' }),
    synced_at: timestamp.nullable(),
    retries: z.int(),
    effects: z.object({ open: z.int(), debts: z.int() }),
    intent: anything
      .nullable()
      .openapi({ description: 'What a person wants of it once its job has let go.' }),
    verbs: z.array(z.object({ verb: z.enum(['cancel', 'retry', 'resolve']), force: z.boolean() })),
    choices: choicesSchema,
    events: z.string().openapi({ description: 'Where its history is.' }),
    facts: anything.openapi({ description: 'The record that was taken.' }),
    version: z.int().openapi({ description: 'Of the ETag: grows with every change of the entry.' }),
    updated_at: timestamp,
  })
  .openapi('QueueEntry')

export type EntryView = z.infer<typeof entrySchema>

/** Of the work that runs, with its pace; else of all copies. */
const viewProgress = (row: EntryLine): z.infer<typeof progressSchema> | null => {
  const live = row.jobOpen && row.jobProgress !== null
  const stored = live ? row.jobProgress : row.progress
  if (!stored) return null
  const progress = readProgress(stored)
  const pace = paceOf(progress, { now: row.now.getTime(), runs: live && row.jobState === 'running' })
  const { lastProgressAt } = progress
  return {
    phase: progress.phase,
    bytes_done: progress.done,
    bytes_total: progress.total,
    bytes_per_second: pace.bytesPerSecond,
    eta_seconds: pace.etaSeconds,
    last_progress_at: lastProgressAt === null ? null : moment(new Date(lastProgressAt)),
  }
}

const summaryOf = (row: EntryLine) => ({
  state: row.state as EntryPlace['state'],
  stage: row.stage as EntryPlace['stage'],
  next_look_at: moment(row.lookAt),
  job:
    row.jobOpen && row.jobId !== null
      ? { id: row.jobId, kind: row.jobKind ?? '', state: row.jobState ?? '' }
      : null,
  progress: viewProgress(row),
  down: viewDown(row),
})

export const viewEntrySummary = (row: EntryLine) => toWire(entrySummary, row, summaryOf(row))

interface KeptPlacement extends Placement {
  readonly why?: readonly { readonly what: string; readonly value: string; readonly because: string }[]
  readonly log?: readonly string[]
}

/** The place itself, apart from what was said on the way to it. */
const splitPlacement = (stored: unknown) => {
  if (stored === null || stored === undefined) return { why: [], log: [], placement: null }
  const { why = [], log = [], ...placement } = stored as KeptPlacement
  return { why, log, placement: placement as Placement }
}

/** What a person is asked about, as a diff of the record. */
const viewPending = (row: EntryDetail, placement: Placement | null) => {
  const pending = row.pending as { facts?: EffectiveFacts; placement?: unknown } | null
  if (!pending) return []
  const facts = row.facts as unknown as EffectiveFacts
  const now = pending.facts ?? facts
  const changes = placement
    ? diffCommitted(
        { facts, placement },
        { facts: now, placement: splitPlacement(pending.placement).placement },
      )
    : diffFacts({ instance: facts }, { instance: now })
  return changes.map((change) => ({ ...change }))
}

const windowOf = async (db: Queryable, row: EntryDetail) => {
  if (row.window !== null)
    return {
      name: row.window,
      start: momentOrNull(row.windowStartsAt),
      end: momentOrNull(row.windowEndsAt),
      held: true,
    }
  const window = await projectWindow(db, row)
  return (
    window && {
      name: window.name,
      start: window.startsAt === null ? null : moment(new Date(window.startsAt)),
      end: window.endsAt === null ? null : moment(new Date(window.endsAt)),
      held: false,
    }
  )
}

const workOf = async (db: Queryable, row: EntryDetail, silentMs: number) => {
  const job = row.jobOpen && row.jobId !== null ? await getJob(db, row.jobId) : undefined
  if (!job) return { wait: null, stall: null }
  const { wait } = await viewJob(db, job, silentMs)
  const stall = stallOf({
    now: row.now.getTime(),
    wait: wait && { cause: wait.reason, message: wait.detail, since: Date.parse(wait.since) },
    runs:
      row.jobState === 'running' && row.jobStartedAt && row.jobClaimedAt
        ? { startedAt: row.jobStartedAt.getTime(), claimedAt: row.jobClaimedAt.getTime() }
        : null,
    progress: readProgress(row.jobProgress),
    away: awayOf(row).map(({ role, message }) => ({ code: `${role}-not-connected`, message })),
  })
  return { wait, stall: stall && { ...stall, since: moment(new Date(stall.since)) } }
}

/** Why it is where it is, each with what ends it: no wait without an end. */
const viewReasons = (row: EntryDetail) => {
  const explain = (code: string) => {
    const { remedy, endsWhen } = explainReason({
      code,
      state: row.state as EntryPlace['state'],
      error: [row.error, row.jobError].find((error) => error?.code === code) ?? null,
    })
    return { remedy, ends_when: endsWhen }
  }
  return {
    ...explain(row.reason),
    reasons: row.reasons.map(({ code, message, until }) => ({
      code: String(code),
      message: String(message),
      ...explain(String(code)),
      until: typeof until === 'string' ? until : null,
    })),
  }
}

/** An entry with everything that a person may ask of it, looked up now. */
export const readEntry = async (db: Queryable, row: EntryDetail, silentMs: number): Promise<EntryView> => {
  const { why, log, placement } = splitPlacement(row.placement)
  return toWire(entrySchema, row, {
    ...summaryOf(row),
    window: await windowOf(db, row),
    ...viewReasons(row),
    placement: placement && { ...placement },
    target_machine: row.machineRef,
    why_here: why.map((one) => ({ ...one })),
    script_log: [...log],
    pending: viewPending(row, placement),
    ...(await workOf(db, row, silentMs)),
    away: awayOf(row).map(({ since, ...site }) => ({ ...site, since: moment(new Date(since)) })),
    effects: await countEntryEffects(db, row.id),
    verbs: entryVerbs(
      { state: row.state as EntryPlace['state'], stage: row.stage as EntryPlace['stage'] },
      { leftovers: hasLeftovers(row) },
    ),
    choices: await readChoices(db, row),
    events: `/v1/events?subject=entry/${row.id}`,
  })
}
