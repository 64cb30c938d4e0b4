import type { Tx } from '../../../db/client.ts'
import {
  type EntryAtWork,
  type EntryChange,
  lockEntryOfJob,
  writeEntry,
} from '../../../db/queries/entries/entry-rows.ts'
import { loadSite, loadSiteById } from '../../../db/queries/sites/load-site.ts'
import type { SiteRow } from '../../../db/schema/inventory.ts'
import type { EffectiveFacts } from '../../domain/inventory/overrides.ts'
import type { Placement } from '../../domain/migration/place/placement.ts'
import { DroverError } from '../../errors.ts'
import { requireTrusted } from '../../inventory/connection/connectivity.ts'
import type { DomainChange, JobContext } from '../../ledger/job.ts'
import type { Platform } from '../../platforms/ports/ports.ts'
import { asItIs } from './apply-entry.ts'
import { type BatchView, readBatchView } from './batch-view.ts'

/** An entry as its job sees it, with its batch, source and target. */
export interface EntryWork {
  readonly ctx: JobContext
  readonly entry: EntryAtWork
  readonly batch: BatchView
  /** The committed record of the instance. */
  readonly facts: EffectiveFacts
  readonly source: SiteRow
  /** Undefined before the placement. */
  readonly target: SiteRow | undefined
}

/** The first step of a job, in the fenced transaction that reads its entry. */
export type Entering = (tx: Tx, batch: BatchView, entry: EntryAtWork) => Promise<void>

/**
 * Loads an entry if it still belongs to this job, and lets `enter` change it. Throws when another job has the entry:
 * then this job has nothing left to do.
 */
export const enterEntryWork = (ctx: JobContext, entryId: string, enter?: Entering): Promise<EntryWork> =>
  ctx.transaction(async (tx) => {
    const asked = { entryId, jobId: ctx.job.id }
    const found = await lockEntryOfJob(tx, asked)
    if (!found) throw movedOn(entryId)
    const batch = await readBatchView(tx, found.batchId)
    if (!batch) throw movedOn(entryId)
    await enter?.(tx, batch, found)
    const entry = enter ? await lockEntryOfJob(tx, asked) : found
    const source = await loadSiteById(tx, found.sourceId)
    if (!entry || !source) throw movedOn(entryId)
    requireTrusted(source)
    const target = await findTarget(tx, entry)
    if (target) requireTrusted(target)
    return { ctx, entry, batch, facts: entry.facts as unknown as EffectiveFacts, source, target }
  })

const findTarget = async (tx: Tx, entry: EntryAtWork): Promise<SiteRow | undefined> => {
  if (entry.targetId !== null) return loadSiteById(tx, entry.targetId)
  const name = entry.placement?.target
  return typeof name === 'string' ? loadSite(tx, { role: 'target', name }) : undefined
}

/** A change of the entry that commits with the job's outcome, or not at all. */
export const leaveEntryWork =
  (entryWork: EntryWork, change: (tx: Tx, entry: EntryAtWork) => Promise<void>): DomainChange =>
  async (tx) => {
    const { ctx, entry } = entryWork
    const now = await lockEntryOfJob(tx, { entryId: entry.id, jobId: ctx.job.id })
    if (!now) throw movedOn(entry.id)
    await change(tx, now)
  }

/** Writes fields of an entry without changing its state. The caller holds its lock. */
export const writeNote = (
  tx: Tx,
  entry: EntryAtWork,
  change: EntryChange,
  lookAt: Date = entry.lookAt,
): Promise<void> => writeEntry(tx, { ...asItIs(entry), lookAt, change })

/**
 * The same in a transaction of its own, during the job; `look`: the scheduler looks again, because the shown state
 * depends on it.
 */
export const noteEntry = (
  { ctx, entry }: Pick<EntryWork, 'ctx' | 'entry'>,
  change: EntryChange | ((tx: Tx, now: EntryAtWork) => Promise<EntryChange>),
  look: 'in-time' | 'at-once' = 'in-time',
): Promise<EntryAtWork> =>
  ctx.transaction(async (tx) => {
    const asked = { entryId: entry.id, jobId: ctx.job.id }
    const now = await lockEntryOfJob(tx, asked)
    if (!now) throw movedOn(entry.id)
    await writeNote(
      tx,
      now,
      typeof change === 'function' ? await change(tx, now) : change,
      look === 'at-once' ? now.now : now.lookAt,
    )
    const written = await lockEntryOfJob(tx, asked)
    if (!written) throw movedOn(entry.id)
    return written
  })

/** The placement of the entry. Throws when there is none: a copy needs a placement. */
export const placementOf = ({ entry }: Pick<EntryWork, 'entry'>): Placement => {
  if (entry.placement) return entry.placement as unknown as Placement
  throw notPlaced(entry.id)
}

/** The machine that Drover has made on the target. */
export const machineOf = ({ entry }: Pick<EntryWork, 'entry'>): string => {
  if (entry.machineRef !== null) return entry.machineRef
  throw notPlaced(entry.id)
}

export interface Ends {
  readonly source: Platform
  readonly target: Platform
}

/** Lends the platforms of source and target to some work. */
export const atBothEnds = <Result>(
  entryWork: EntryWork,
  work: (ends: Ends) => Promise<Result>,
): Promise<Result> => {
  const { ctx, source, target, entry } = entryWork
  if (!target) throw notPlaced(entry.id)
  return ctx.usePlatform(source, (from) =>
    ctx.usePlatform(target, (to) => work({ source: from, target: to })),
  )
}

export const movedOn = (entryId: string): DroverError =>
  new DroverError({
    code: 'entry-moved-on',
    class: 'conflict',
    message: `The entry ${entryId} is not this job's any more.`,
    remedy: 'Nothing to do: whoever has the entry now goes on with it.',
  })

const notPlaced = (entryId: string): DroverError =>
  new DroverError({
    code: 'entry-not-placed',
    class: 'conflict',
    message: `The entry ${entryId} has no machine on a target.`,
    remedy: 'Retry the entry: it is placed again first.',
  })
