import type { Platform } from '../../platforms/ports.ts'
import { type Ends, type Journey, machineOf } from '../journey.ts'
import type { ByteBudget } from './byte-budget.ts'

/** All that a copy of an entry needs. */
export interface CopyTask {
  readonly journey: Journey
  readonly ends: Ends
  /** Shared by all copies of the process. */
  readonly budget: ByteBudget
  /** Shown with the progress: which of an entry's copies this is. */
  readonly phase: string
  /** A safe point between two extents: throws when the work has to be let go of. */
  readonly pace: () => Promise<void>
}

/** For one extent; a platform that takes longer is not there. */
export const extentMs = 60_000
/** For work of the platform that it does by itself. */
export const taskMs = 600_000

export const callOf = ({ journey: { turn } }: CopyTask, name: string, timeoutMs = extentMs) => ({
  signal: turn.signal,
  timeoutMs,
  name,
})

/** The machine that is read, on its platform. */
export const sourceOf = ({ journey, ends }: CopyTask): { platform: Platform; ref: string } => ({
  platform: ends.source,
  ref: journey.facts.ref,
})

/** The machine that is written. */
export const targetOf = ({ journey, ends }: CopyTask): { platform: Platform; ref: string } => ({
  platform: ends.target,
  ref: machineOf(journey),
})
