import { v7 as uuidv7 } from 'uuid'
import type { Tx } from '../../../db/client.ts'
import {
  assignPage,
  type CandidateLine,
  type EntryInsert,
  holdUnchanged,
  insertEntries,
  listCandidates,
  type MadeEntry,
  setBatchMessage,
} from '../../../db/queries/batches/batch-instances.ts'
import { lockBatch } from '../../../db/queries/batches/batch-rows.ts'
import { holdSites } from '../../../db/queries/entries/entries-using-site.ts'
import { assignJobs } from '../../../db/queries/entries/entry-rows.ts'
import { type CompiledFilter, compileFilter } from '../../domain/filter/compile-filter.ts'
import { instanceView } from '../../domain/filter/view.ts'
import { applyOverrides, type EffectiveFacts } from '../../domain/inventory/overrides.ts'
import { type InstanceStanding, startEntry } from '../../domain/migration/batch/start-batch.ts'
import { many } from '../../domain/text/sentence.ts'
import type { JobContext } from '../../ledger/job.ts'
import { enqueue } from '../../ledger/jobs/enqueue.ts'
import { jobOfEntry } from '../entry/apply-entry.ts'
import type { BatchView } from '../entry/batch-view.ts'
import { findingsOf } from '../entry/findings-of.ts'
import { targetBeforePlacement, tokensToPlace } from '../entry/known-target.ts'

export interface FoundInstances {
  readonly looked: number
  readonly matched: number
  /** Entries that were made. */
  readonly entries: number
}

/** Instances per page: enough for few round trips, few enough for flat memory and short transactions. */
const pageSize = 1_000
/** The end of a job wakes its entry; this is the fallback when the wake-up was missed. */
const lookAgainMs = 300_000

/**
 * Walks the whole fleet page by page. Each page is one transaction that also records the position, so an interrupted
 * walk continues there and makes nothing twice.
 */
export const makeEntries = async (
  ctx: JobContext,
  batch: BatchView,
  purpose: 'assign' | 'start',
): Promise<FoundInstances> => {
  const filter = compileFilter(batch.row.includeExpression, 'instance')
  let found = readFound(ctx.checkpointed)
  let after = (ctx.checkpointed?.after as string | undefined) ?? null
  for (;;) {
    const page = await listCandidates(ctx.db, batch.row.id, { after, limit: pageSize })
    const last = page.at(-1)
    if (!last) break
    const judged = page.map((line) => judgeCandidate(line, filter))
    const matched = judged.filter(({ matches }) => matches === true)
    const { entries, changed } =
      purpose === 'assign'
        ? await assign(ctx, batch, { after, upTo: last.id, matching: matched.map(({ line }) => line.id) })
        : await makePageOfEntries(ctx, batch, judged)
    found = { ...found, entries: found.entries + entries }
    if (changed) continue
    found = { ...found, looked: found.looked + page.length, matched: found.matched + matched.length }
    after = last.id
    ctx.progress({ done: found.looked, total: 0, phase: purpose })
    if (page.length < pageSize) break
    await ctx.checkpoint({ ...found, after })
  }
  return found
}

const readFound = (stored: Readonly<Record<string, unknown>> | null): FoundInstances => ({
  looked: Number(stored?.looked ?? 0),
  matched: Number(stored?.matched ?? 0),
  entries: Number(stored?.entries ?? 0),
})

export interface Judged {
  readonly line: CandidateLine
  readonly facts: EffectiveFacts
  readonly matches: boolean | { readonly problem: string }
}

export const judgeCandidate = (line: CandidateLine, filter: CompiledFilter): Judged => {
  const facts = applyOverrides(line.facts, line.overrides)
  const outcome = filter.run(
    instanceView({
      facts,
      source: line.source,
      source_kind: line.sourceKind,
      readiness: line.readiness,
      findings: line.findings.map(({ rule }) => rule),
    }),
  )
  return { line, facts, matches: 'match' in outcome ? outcome.match : { problem: outcome.error } }
}

interface PageDone {
  readonly entries: number
  /** Some instances of the page have changed since they were read: the page is read again. */
  readonly changed: boolean
}

const noEntries: PageDone = { entries: 0, changed: false }

const assign = async (
  ctx: JobContext,
  batch: BatchView,
  page: { readonly after: string | null; readonly upTo: string; readonly matching: readonly string[] },
): Promise<PageDone> => {
  await ctx.transaction((tx) => assignPage(tx, { batchId: batch.row.id, ...page }))
  return noEntries
}

/** The instance is in no batch, was not migrated, and matches now or matched before. */
export const getsEntry = ({ line, matches }: Judged): boolean =>
  line.entryBatch === null && !line.migrated && (matches === true || line.assigned)

/**
 * An entry keeps the record that it was made from, and ends with that power state. A machine switched on between the
 * read of a page and this transaction would be left off by its migration.
 */
const makePageOfEntries = async (
  ctx: JobContext,
  batch: BatchView,
  judged: readonly Judged[],
): Promise<PageDone> => {
  const wanted = judged.filter(getsEntry)
  if (wanted.length === 0) return noEntries
  const by = { id: batch.row.id, name: batch.row.name, by: `batch/${batch.row.name}` }
  return ctx.transaction(async (tx) => {
    if (!(await stillRuns(tx, batch.row))) return noEntries
    await holdSites(tx, [...new Set(wanted.map(({ line }) => line.siteId))])
    const same = await holdUnchanged(
      tx,
      wanted.map(({ line }) => line),
    )
    const inserts = wanted.filter(({ line }) => same.has(line.id)).map((one) => newEntry(batch, one))
    const made = await insertEntries(tx, by, inserts)
    const revisions = new Map(inserts.map(({ id, revision }) => [id, revision]))
    await sendFirstJobs(
      tx,
      batch,
      made.filter(({ state, busy }) => state === 'waiting' && !busy),
      revisions,
    )
    return { entries: made.length, changed: inserts.length < wanted.length }
  })
}

/** Locks the batch, so that a stop or a reset waits for the page: no entry is made for a start that was withdrawn. */
const stillRuns = async (tx: Tx, { id, name, startedAt }: BatchView['row']): Promise<boolean> => {
  const now = await lockBatch(tx, name)
  return now?.id === id && now.state === 'running' && now.startedAt?.getTime() === startedAt?.getTime()
}

/** Sends the first jobs of a page at once, as the scheduler would one by one. */
const sendFirstJobs = async (
  tx: Tx,
  batch: BatchView,
  entries: readonly MadeEntry[],
  revisions: ReadonlyMap<string, number>,
): Promise<void> => {
  if (entries.length === 0) return
  const tokens = tokensToPlace(targetBeforePlacement(batch))
  const jobs = entries.map(({ id, instanceId }) =>
    jobOfEntry(batch.row, id, {
      kind: 'place-instance',
      payload: { instance_id: instanceId, revision: revisions.get(id) ?? 0 },
      tokens,
    }),
  )
  const sent = await enqueue(tx, jobs)
  await assignJobs(
    tx,
    entries.map(({ id }, at) => ({ entryId: id, jobId: sent[at]?.id ?? '' })),
    lookAgainMs,
  )
}

/** What the inventory says of the instance besides its facts. */
export const instanceStanding = ({ gone, ignored, migrated, findings }: CandidateLine): InstanceStanding => ({
  gone,
  ignored,
  migrated,
  findings: findingsOf(findings),
})

/** The first state of an entry of this batch. */
export const newEntry = (batch: BatchView, { line, facts, matches }: Judged): EntryInsert => {
  const force = batch.defaults.force_conflict_resolution
  const begun = startEntry({
    matches,
    ...instanceStanding(line),
    allowances: batch.config.instance_restriction_overrides,
    force,
    running: line.facts.running,
    overrides: line.overrides,
  })
  return {
    id: uuidv7(),
    instanceId: line.id,
    sourceId: line.siteId,
    state: begun.state,
    reason: begun.reason.code,
    message: begun.reason.message,
    reasons: begun.reasons.map((reason) => ({ ...reason })),
    revision: line.revision,
    facts: facts as unknown as Record<string, unknown>,
    running: begun.running,
    force,
  }
}

/** Reports what a start has found. */
export const sayFound = async (ctx: JobContext, batch: BatchView, found: FoundInstances): Promise<void> => {
  const message = `${many(found.entries, 'new entry', 'new entries')}; ${found.matched} of ${many(found.looked, 'instance matches', 'instances match')}.`
  await ctx.transaction((tx) => setBatchMessage(tx, { id: batch.row.id, message }))
}
