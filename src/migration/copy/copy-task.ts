import { limits } from '../../config/config.ts'
import { callBy, type JobCall } from '../../ledger/job.ts'
import type { Platform } from '../../platforms/ports/ports.ts'
import { type Ends, type EntryWork, machineOf } from '../entry/entry-work.ts'
import type { ByteBudget } from './byte-budget.ts'

/** What a copy of an entry needs. */
export interface CopyTask {
  readonly entryWork: EntryWork
  readonly ends: Ends
  /** Shared by all copies of the process. */
  readonly budget: ByteBudget
  /** The phase shown with the progress. */
  readonly phase: string
  /** A safe point between two extents: throws when the work must stop. */
  readonly pace: () => Promise<void>
}

/** For one extent, as long as bytes keep moving. */
const extentMs = 60_000
/** For tasks of the platform. */
export const taskMs = 600_000

/** A call that the platform answers at once (a look, a read, a write) or, with a time given, a task of the platform. */
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

/** The group of copies that are likely to stall together: one batch, one host of one source. */
export const spenderOf = ({ entryWork: { batch, source, facts } }: CopyTask): string =>
  [batch.row.id, source.id, facts.host].join('/')
