import type { JobState } from '../../job/state.ts'
import { type EntryState, hasEnded } from './entry.ts'

/** Why the taking away of an entry's machine is owed. */
export const cleanUpOwed = {
  code: 'clean-up-owed',
  class: 'transient',
  message: 'Our machine is to be taken away, and is not proved to be gone.',
  remedy:
    'Nothing to do while the withdrawal of its entry goes on. Where the target is gone for good, look there and waive this.',
} as const

/**
 * Who an entry's machine on a target is for by now. `withdrawal`: a job takes it away, or is going to, and knows in which
 * order. `entry`: the entry goes on with it. `nobody`: it may go.
 */
export type MachineIsFor = 'withdrawal' | 'entry' | 'nobody'

export interface MachineNeed {
  readonly state: EntryState
  /** Its source is off on our account. */
  readonly sourceOff: boolean
  readonly jobKind: string | null
  readonly jobState: JobState | null
  /** It lands on another target by now. */
  readonly landsElsewhere: boolean
}

/** Undefined: the entry is gone. */
export const whoNeedsMachine = (entry: MachineNeed | undefined): MachineIsFor => {
  if (!entry) return 'nobody'
  const { state, jobKind, jobState } = entry
  if (state !== 'finished') {
    // A source that we switched off comes back first.
    if (entry.sourceOff && hasEnded(state)) return 'withdrawal'
    if (jobKind === 'withdraw-entry' && jobState !== 'succeeded') return 'withdrawal'
  }
  return state === 'canceled' || entry.landsElsewhere ? 'nobody' : 'entry'
}
