import type { Tx } from '../../../db/client.ts'
import { type EntryAtWork, writeEntry } from '../../../db/queries/entries/entry-rows.ts'
import { hurryJob } from '../../../db/queries/jobs/hurry-job.ts'
import { copiedInAll } from '../../domain/migration/schedule/progress-pace.ts'
import { requireMayStart } from '../../inventory/power/start-guard.ts'
import { actorOf, type Done, done, type JobContext } from '../../ledger/job.ts'
import type { ByteBudget } from '../copy/byte-budget.ts'
import type { CopiedCycle } from '../copy/copy-cycle.ts'
import type { CopyTask } from '../copy/copy-task.ts'
import { guardDrift } from '../copy/drift-guard.ts'
import { endForPerson, move } from '../copy/import-entry.ts'
import { clearSnapshots } from '../copy/source-snapshot.ts'
import { asItIs, committedPriority, moveEntry } from '../entry/apply-entry.ts'
import type { BatchView } from '../entry/batch-view.ts'
import { atBothEnds, type EntryWork, enterEntryWork, leaveEntryWork, movedOn } from '../entry/entry-work.ts'
import { noteHistory } from '../entry/note-history.ts'
import { observeEntry } from '../entry/observe-entry.ts'
import { startOfSource } from '../source/give-back.ts'
import { finalImport } from './final-import.ts'
import { fitTarget } from './fit-target.ts'

/** From the power-off of the source to a copy that is ready for verification; continues from any interruption. */
export const cutOverEntry = async (ctx: JobContext, entryId: string, budget: ByteBudget): Promise<Done> => {
  const entryWork = await enterEntryWork(ctx, entryId, (tx, batch, entry) => begin(ctx, tx, batch, entry))
  if (entryWork.entry.state === 'idle') return tooLate(entryWork)
  return atBothEnds(entryWork, async (ends): Promise<Done> => {
    const task: CopyTask = { entryWork, ends, budget, phase: 'final-copy', pace: () => ctx.pace() }
    let result: Record<string, unknown> = {}
    if (entryWork.entry.state === 'final-import') {
      const imported = await importFinally(task)
      if (imported.type === 'ended') return imported.outcome
      result = imported.result
    }
    await ctx.pace()
    const begunMs = ctx.clock.monotonicMs()
    await fitTarget(task)
    const tookMs = ctx.clock.monotonicMs() - begunMs
    return done(result, {
      change: move(entryWork, {
        took: { phase: 'post-import', bytes: 0, tookMs },
        event: 'post-done',
        reason: { code: 'fitted', message: 'The copy is fitted to its new home and can be verified.' },
      }),
    })
  })
}

/** Moves the entry to the state of its next work; leaves it idle when its window no longer allows a start. */
const begin = async (ctx: JobContext, tx: Tx, batch: BatchView, entry: EntryAtWork): Promise<void> => {
  if (entry.state === 'final-import' || entry.state === 'post-import') return
  if (entry.state !== 'idle') throw movedOn(entry.id)
  const complete = entry.stage === 'complete'
  // The job may have waited for its turn since it was sent.
  if (!complete && !(await mayBegin(tx, batch, entry))) return
  // From here on its jobs go before those of entries that have not begun.
  await hurryJob(tx, ctx.job.id, committedPriority)
  await moveEntry(tx, batch.row, entry, {
    event: complete ? 'post-begin' : 'cutover-begin',
    reason: complete
      ? { code: 'fitting', message: 'The copy is fitted to its new home.' }
      : { code: 'cutting-over', message: 'The source is switched off and the rest is copied.' },
    by: actorOf(ctx),
    jobId: ctx.job.id,
    tries: entry.tries,
  })
}

const mayBegin = async (tx: Tx, batch: BatchView, entry: EntryAtWork): Promise<boolean> => {
  // A person's verb is pending, and the scheduler carries it out.
  if (entry.intent !== null) return false
  const window = (await observeEntry(tx, batch, entry))?.facts.window
  return window?.is === 'open' && (window.window?.id ?? null) === entry.windowId
}

/** Gives the room in the window back; the scheduler looks for another window. */
const tooLate = (entryWork: EntryWork): Done => ({
  type: 'done',
  result: { ended: 'not-begun' },
  change: leaveEntryWork(entryWork, (tx, entry) =>
    writeEntry(tx, {
      ...asItIs(entry),
      ...(entry.intent
        ? {}
        : { reason: 'window-closed', message: 'Nothing may begin in its window any more.' }),
      jobId: null,
      change: { windowId: null, constraintName: null },
    }),
  ),
})

type Imported =
  | { readonly type: 'copied'; readonly result: Record<string, unknown> }
  | { readonly type: 'ended'; readonly outcome: Done }

const importFinally = async (task: CopyTask): Promise<Imported> => {
  const { entryWork } = task
  const before = await guardDrift(task, [])
  if (before.is === 'identity') return ended(await endForPerson(task, before.message))
  const cycle = await finalImport(task, () => requireMayStart(entryWork.ctx, startOfSource(entryWork)))
  const after = await guardDrift(task, cycle.reset)
  if (after.is === 'identity') return ended(await endForPerson(task, after.message))
  const debts = await clearSnapshots(task)
  await moveOn(entryWork, cycle)
  const { n, bytes, takenAt } = cycle
  return {
    type: 'copied',
    result: { cycle: n, bytes, taken_at: takenAt.toISOString(), drift: after.notes, debts },
  }
}

const ended = (outcome: Done): Imported => ({ type: 'ended', outcome })

/** The copy is complete and the fitting begins: one step reports both. */
const moveOn = async (entryWork: EntryWork, { takenAt, bytes, tookMs }: CopiedCycle): Promise<void> => {
  const { ctx, entry } = entryWork
  await enterEntryWork(ctx, entry.id, async (tx, batch, now) => {
    await moveEntry(tx, batch.row, now, {
      event: 'copied',
      reason: { code: 'copied', message: 'The copy is the source as it was when it was switched off.' },
      by: actorOf(ctx),
      jobId: ctx.job.id,
      change: {
        syncedAt: takenAt,
        progress: copiedInAll(now.progress, bytes),
        error: null,
      },
    })
    await noteHistory(tx, entryWork, { phase: 'final-import', bytes, tookMs })
  })
  await enterEntryWork(ctx, entry.id, (tx, batch, now) => begin(ctx, tx, batch, now))
}
