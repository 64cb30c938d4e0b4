import type { Db, Tx } from '../../../db/client.ts'
import { lockRoom } from '../../../db/queries/batches/batch-rows.ts'
import {
  type EntryAtWork,
  findDueEntries,
  takeEntry,
  writeEntry,
} from '../../../db/queries/entries/entry-rows.ts'
import { insertAuditEvent } from '../../../db/queries/events/insert-audit-event.ts'
import type { Clock } from '../../clock.ts'
import { dependOn } from '../../domain/job/token.ts'
import { firstCopyToken } from '../../domain/migration/batch/batch-settings.ts'
import { decideEntry, pauseMs } from '../../domain/migration/entry/decide-entry.ts'
import { isCommitted } from '../../domain/migration/entry/entry.ts'
import { type EntryDecision, workingLookMs } from '../../domain/migration/entry/entry-facts.ts'
import { tokensOfSource } from '../../domain/migration/schedule/copy-tokens.ts'
import { letOffToken } from '../../ledger/jobs/admission.ts'
import { type CancelOutcome, cancelInTransaction, nudgeCancel } from '../../ledger/jobs/cancel.ts'
import { nudge } from '../../ledger/jobs/nudge.ts'
import type { Logger } from '../../process/log.ts'
import { Loop } from '../../process/service.ts'
import { asItIs, moveEntry, placeOf, sendJob } from '../entry/apply-entry.ts'
import { type BatchView, readBatchView } from '../entry/batch-view.ts'
import { tokensToPlace } from '../entry/known-target.ts'
import { type ObservedEntry, observeEntry } from '../entry/observe-entry.ts'
import { failBatches, finishBatches } from './end-batches.ts'

export interface SchedulerOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
  readonly intervalMs?: number
  /** Entries per round. */
  readonly batch?: number
}

const actor = 'conductor'
const atOnce = 4
/** Jobs that ended while no conductor led. For older ends, `look_at` applies. */
const firstLookBackSeconds = 3_600
const spareSeconds = 10

/** Moves every entry that is due a step further, as `decideEntry` says. */
export const migrationScheduler = (options: SchedulerOptions): Loop => {
  const { clock, log, db } = options
  let lastRound: number | undefined
  return new Loop({
    name: 'migration-scheduler',
    intervalMs: options.intervalMs ?? 500,
    clock,
    log,
    runOnce: async () => {
      const began = clock.monotonicMs()
      const since = lastRound === undefined ? firstLookBackSeconds : (began - lastRound) / 1_000
      const looked = await advanceEntries({ ...options, endedWithinSeconds: since + spareSeconds })
      await failBatches(db)
      await finishBatches(db)
      // Set only now: a failed round is repeated by the next one.
      lastRound = began
      return looked
    },
  })
}

/** One round. True: there may be more. An entry that cannot be decided does not hold up the others. */
export const advanceEntries = async (
  options: Pick<SchedulerOptions, 'db' | 'log' | 'batch'> & { readonly endedWithinSeconds?: number },
): Promise<boolean> => {
  const { db, log } = options
  const limit = options.batch ?? 200
  const endedWithinSeconds = options.endedWithinSeconds ?? firstLookBackSeconds
  const due = await findDueEntries(db, { limit, endedWithinSeconds })
  const views = new Map<string, Promise<BatchView | undefined>>()
  const waiting = [...due]
  const work = async () => {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift())
      await advanceEntry(db, id, views).catch((error: unknown) =>
        log.warn(
          { err: error, entry: id },
          'an entry could not be taken further; it will be looked at again',
        ),
      )
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, due.length) }, work))
  return due.length === limit
}

type Views = Map<string, Promise<BatchView | undefined>>

interface Advanced {
  readonly canceled?: CancelOutcome
  readonly sent: boolean
}

const advanceEntry = async (db: Db, id: string, views: Views): Promise<void> => {
  const advanced = (await db.begin((tx) => decideAndDo(tx, db, id, views))) as Advanced
  if (advanced.canceled) nudgeCancel(db, advanced.canceled)
  else if (advanced.sent) nudge(db)
}

const nothing: Advanced = { sent: false }

const decideAndDo = async (tx: Tx, db: Db, id: string, views: Views): Promise<Advanced> => {
  const entry = await takeEntry(tx, id)
  if (!entry) return nothing
  let view = views.get(entry.batchId)
  if (!view) {
    view = readBatchView(db, entry.batchId)
    views.set(entry.batchId, view)
  }
  const batch = await view
  // Room in windows and under constraints is given out by one transaction at a time.
  if (entry.state === 'idle' && batch?.scarce) await lockRoom(tx, entry.batchId)
  const observed = batch && (await observeEntry(tx, batch, entry))
  if (!batch || !observed) return nothing
  return carryOut(tx, { batch, entry, observed, decision: decideEntry(observed.facts) })
}

interface Step {
  readonly batch: BatchView
  readonly entry: EntryAtWork
  readonly observed: ObservedEntry
  readonly decision: EntryDecision
}

const carryOut = async (tx: Tx, step: Step): Promise<Advanced> => {
  const { batch, entry, decision } = step
  switch (decision.do) {
    case 'rest':
      await note(tx, entry, { ...decision, jobId: entry.jobId })
      return nothing
    case 'apply':
      await moveEntry(tx, batch.row, entry, {
        event: decision.event,
        reason: decision.reason,
        by: actor,
        force: decision.force,
        cleanup: decision.cleanup,
        tries: decision.tries,
        // The entry failed to move on: each retry comes later, whatever `since` says.
        ...(decision.tries > 0 ? { lookAt: new Date(entry.now.getTime() + pauseMs(decision.tries)) } : {}),
        change: { reasons: reasonsOf(step, decision), error: entry.jobError },
      })
      return { sent: true }
    case 'start':
      await startJob(tx, step, decision)
      return { sent: true }
    case 'call-off': {
      const canceled = await cancelInTransaction(tx, entry.jobId ?? '', {
        by: actor,
        reason: decision.reason.message,
      })
      await note(tx, entry, { reason: decision.reason, jobId: entry.jobId, lookAt: soon(entry) })
      return { sent: true, canceled }
    }
    case 'let-off': {
      const asked = { id: entry.jobId ?? '', token: firstCopyToken(batch.row.name) }
      const sent = await letOffToken(tx, asked)
      await note(tx, entry, {
        reason: decision.reason,
        jobId: entry.jobId,
        lookAt: entry.now.getTime() + workingLookMs,
      })
      return { sent }
    }
    case 'forget':
      await insertAuditEvent(tx, {
        type: 'entry.wish-dropped',
        subject: { type: 'entry', id: entry.id },
        actor,
        reason: decision.reason.message,
      })
      // The reason in the row stays: it may be why a person has to act.
      await note(tx, entry, {
        reason: { code: entry.reason, message: entry.message },
        jobId: entry.jobId,
        change: { intent: null },
      })
      return nothing
  }
}

/** What blocks the entry or, for retries with a deadline, that deadline. */
const reasonsOf = (
  { observed }: Step,
  { reason, until }: Extract<EntryDecision, { do: 'apply' }>,
): Record<string, unknown>[] =>
  until === undefined
    ? observed.facts.blocks.map((block) => ({ ...block }))
    : [{ ...reason, until: new Date(until).toISOString() }]

/** A cancel is noticed within a second; this is the fallback. */
const callOffMs = 5_000
const soon = (entry: EntryAtWork): number => entry.now.getTime() + callOffMs

/** Records the reason and the end of a wait. */
const note = (
  tx: Tx,
  entry: EntryAtWork,
  noted: {
    readonly reason: { readonly code: string; readonly message: string }
    readonly jobId: string | null
    readonly lookAt?: number
    readonly tries?: number
    readonly change?: Parameters<typeof writeEntry>[1]['change']
  },
): Promise<void> =>
  writeEntry(tx, {
    ...asItIs(entry),
    reason: noted.reason.code,
    message: noted.reason.message,
    tries: noted.tries ?? entry.tries,
    jobId: noted.jobId,
    lookAt: noted.lookAt === undefined ? undefined : new Date(noted.lookAt),
    ...(noted.change ? { change: noted.change } : {}),
  })

const startJob = async (
  tx: Tx,
  { batch, entry, observed }: Step,
  decision: Extract<EntryDecision, { do: 'start' }>,
): Promise<void> => {
  const { surroundings, facts, constraint } = observed
  const source = surroundings.sourceName
  const target = surroundings.targetName ?? ''
  // A complete copy is only fitted: it takes no token of a copy.
  const copied = entry.stage === 'complete'
  const imports = copied ? [] : [`source-imports/${source}`, `target-imports/${target}`]
  const both = dependOn({ source, target: surroundings.targetName })
  const cuts = decision.job === 'cutover-instance'
  // The limit on first copies never holds back an entry whose window is open.
  const first = entry.syncedAt === null && batch.config.sync_limit > 0 && facts.window.is !== 'open'
  const copies = copied ? [] : tokensOfSource(source, observed.record)
  const tokens = {
    'place-instance': tokensToPlace(surroundings.targetName),
    'import-instance': [...imports, ...copies, ...(first ? [firstCopyToken(batch.row.name)] : [])],
    'cutover-instance': copied ? both : [...imports, ...copies],
    'final-verify': both,
    'withdraw-entry': both,
  }[decision.job]
  const jobId = await sendJob(tx, batch.row, entry, {
    kind: decision.job,
    committed: isCommitted(placeOf(entry)),
    tokens,
    payload: payloadOf(entry, decision.job),
  })
  const window = facts.window.is === 'open' ? facts.window.window : null
  await note(tx, entry, {
    reason: decision.reason,
    jobId,
    tries: decision.tries,
    lookAt: decision.lookAt,
    // Counted from now on, so that no other entry gets the same room.
    ...(cuts && !copied
      ? { change: { windowId: window?.id ?? entry.windowId, constraintName: constraint?.name ?? null } }
      : {}),
  })
}

const payloadOf = (entry: EntryAtWork, job: string): Record<string, unknown> => {
  if (job === 'place-instance') return { instance_id: entry.instanceId, revision: entry.revision }
  if (job === 'withdraw-entry') return ordersOf(entry)
  return {}
}

/** The orders of the failed withdrawal, or only what the source is owed. */
const ordersOf = ({ jobKind, jobPayload }: EntryAtWork): Record<string, unknown> =>
  jobKind === 'withdraw-entry' && jobPayload
    ? { source: jobPayload.source, target: jobPayload.target }
    : { source: 'start', target: 'keep' }
