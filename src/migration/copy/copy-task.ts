import { limits } from '../../config/config.ts'
import { callBy, type JobCall } from '../../ledger/job.ts'
import type { Platform } from '../../platforms/ports/ports.ts'
import { type Ends, type EntryWork, machineOf } from '../entry/entry-work.ts'
import type { ByteBudget } from './byte-budget.ts'

/** All that a copy of an entry needs. */
export interface CopyTask {
  readonly entryWork: EntryWork
  readonly ends: Ends
  /** Shared by all copies of the process. */
  readonly budget: ByteBudget
  /** Shown with the progress: which of an entry's copies this is. */
  readonly phase: string
  /** A safe point between two extents: throws when the work has to be let go of. */
  readonly pace: () => Promise<void>
}

/** For one extent, as long as it comes further. */
const extentMs = 60_000
/** For work of the platform that it does by itself. */
export const taskMs = 600_000

/** A look, a read or a write, which a platform begins to answer at once; or, with a time, work that it does by itself. */
export const callOf = ({ entryWork: { ctx } }: CopyTask, name: string, timeoutMs?: number): JobCall => ({
  ...callBy(ctx, name, timeoutMs ?? extentMs),
  ...(timeoutMs === undefined ? { stallMs: limits.platformStallMs } : {}),
})

/** A machine on its platform. */
export interface CopyEnd {
  readonly platform: Platform
  /** Of the source or target. */
  readonly name: string
  readonly ref: string
}

/** The machine that is read, on its platform. */
export const sourceOf = ({ entryWork, ends }: CopyTask): CopyEnd => ({
  platform: ends.source,
  name: entryWork.source.name,
  ref: entryWork.facts.ref,
})

/** The machine that is written. */
export const targetOf = ({ entryWork, ends }: CopyTask): CopyEnd => ({
  platform: ends.target,
  name: entryWork.target?.name ?? '',
  ref: machineOf(entryWork),
})

/** Copies that are likely to hang together: of one batch, on one host of one source. */
export const spenderOf = ({ entryWork: { batch, source, facts } }: CopyTask): string =>
  [batch.row.id, source.id, facts.host].join('/')
