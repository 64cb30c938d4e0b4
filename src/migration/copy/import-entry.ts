import type { Tx } from '../../../db/client.ts'
import type { EntryAtWork, EntryChange } from '../../../db/queries/entries/entry-rows.ts'
import { writeEntry } from '../../../db/queries/entries/entry-rows.ts'
import { copiedInAll, toppedUp } from '../../domain/migration/schedule/progress-pace.ts'
import { latestTopUp } from '../../domain/migration/schedule/top-up.ts'
import { utcText } from '../../domain/text/utc-text.ts'
import {
  actorOf,
  type DomainChange,
  type Done,
  type DoneWithChange,
  done,
  type JobContext,
} from '../../ledger/job.ts'
import { asItIs, type EntryStep, moveEntry } from '../entry/apply-entry.ts'
import type { BatchView } from '../entry/batch-view.ts'
import { atBothEnds, type EntryWork, enterEntryWork, leaveEntryWork, movedOn } from '../entry/entry-work.ts'
import { noteHistory } from '../entry/note-history.ts'
import { observeEntry } from '../entry/observe-entry.ts'
import type { ByteBudget } from './byte-budget.ts'
import { copyCycle } from './copy-cycle.ts'
import type { CopyTask } from './copy-task.ts'
import { guardDrift } from './drift-guard.ts'
import { requireDisks } from './require-disks.ts'
import { clearSnapshots } from './source-snapshot.ts'

/** One copy of the changes while the source runs: in the end as old as its snapshot. */
export const importEntry = async (ctx: JobContext, entryId: string, budget: ByteBudget): Promise<Done> => {
  const entryWork = await enterEntryWork(ctx, entryId, async (tx, batch, entry) => {
    if (entry.state === 'background-import') return
    if (entry.state !== 'idle') throw movedOn(entryId)
    // The job may have waited for its turn since it was sent.
    if (entry.stage === 'final' && (await comesTooLate(tx, batch, entry))) return
    await moveEntry(tx, batch.row, entry, {
      event: 'sync-begin',
      reason: { code: 'copying', message: 'What changed is copied while the source runs.' },
      by: actorOf(ctx),
      jobId: ctx.job.id,
      tries: entry.tries,
    })
  })
  if (entryWork.entry.state === 'idle') return leftForCutover(entryWork)
  return atBothEnds(entryWork, async (ends) => {
    const task: CopyTask = { entryWork, ends, budget, phase: 'background-copy', pace: () => ctx.pace() }
    const before = await guardDrift(task, [])
    if (before.is === 'identity') return endForPerson(task, before.message)
    await requireDisks(task)
    const cycle = await copyCycle(task, { sourceOff: false })
    const after = await guardDrift(task, cycle.reset)
    if (after.is === 'identity') return endForPerson(task, after.message)
    const debts = await clearSnapshots(task)
    const bytes = cycle.bytes
    const result = { cycle: cycle.n, bytes, taken_at: cycle.takenAt.toISOString(), drift: after.notes, debts }
    return done(result, {
      change: move(entryWork, {
        took: { phase: 'background-import', bytes, tookMs: cycle.tookMs },
        event: 'sync-done',
        reason: { code: 'copied', message: `The copy is as old as ${utcText(cycle.takenAt.getTime())}.` },
        change: (entry) => ({
          syncedAt: cycle.takenAt,
          progress: progressAfter(entry, bytes),
          error: null,
        }),
      }),
    })
  })
}

/** Includes how long a top-up took, from its start and with every interruption. */
const progressAfter = ({ progress, stage, since, now }: EntryAtWork, bytes: number) =>
  stage === 'final'
    ? toppedUp(progress, { bytes, tookMs: now.getTime() - since.getTime() })
    : copiedInAll(progress, bytes)

/** A top-up that would not end before the window opens would delay the cutover. */
const comesTooLate = async (tx: Tx, batch: BatchView, entry: EntryAtWork): Promise<boolean> => {
  const facts = (await observeEntry(tx, batch, entry))?.facts
  return facts?.window.is === 'later' && facts.now > latestTopUp({ ...facts, opensAt: facts.window.at })
}

const leftForCutover = (entryWork: EntryWork): Done =>
  done(
    { ended: 'not-begun' },
    { change: leaveEntryWork(entryWork, (tx, entry) => writeEntry(tx, { ...asItIs(entry), jobId: null })) },
  )

type Leaving = Omit<EntryStep, 'by' | 'change'> & {
  readonly took?: Parameters<typeof noteHistory>[2]
  readonly change?: EntryChange | ((entry: EntryAtWork) => EntryChange)
}

/** Moves the entry together with the job's outcome. */
export const move = (entryWork: EntryWork, { took, change, ...step }: Leaving): DomainChange =>
  leaveEntryWork(entryWork, async (tx, entry) => {
    const changes = typeof change === 'function' ? change(entry) : change
    const by = actorOf(entryWork.ctx)
    await moveEntry(tx, entryWork.batch.row, entry, { ...step, by, ...(changes ? { change: changes } : {}) })
    if (took) await noteHistory(tx, entryWork, took)
  })

/** Like {@link identityChanged}, but removes our snapshots first. */
export const endForPerson = async (task: CopyTask, message: string): Promise<Done> => {
  const debts = await clearSnapshots(task)
  const ended = identityChanged(task.entryWork, message)
  return { ...ended, result: { ...ended.result, debts } }
}

/** The source is not the planned machine any more: a person has to decide. */
export const identityChanged = (entryWork: EntryWork, message: string): DoneWithChange => ({
  type: 'done',
  result: { ended: 'identity-changed' },
  change: move(entryWork, {
    event: 'identity-changed',
    reason: { code: 'identity-changed', message },
    change: {
      error: {
        code: 'identity-changed',
        class: 'conflict',
        message,
        remedy: 'Look at the machine on the source, then cancel or retry the entry.',
      },
    },
  }),
})
