import type { JobState } from '../../job/state.ts'
import { type EntryState, hasEnded } from './entry.ts'

/** Why the removal of an entry's machine is owed. */
export const cleanUpOwed = {
  code: 'clean-up-owed',
  class: 'transient',
  message: 'Our machine is to be taken away, and is not proved to be gone.',
  remedy:
    'Nothing to do while the withdrawal of its entry goes on. Where the target is gone for good, look there and waive this.',
} as const

/**
 * What an entry's machine on a target is needed for. `withdrawal`: a job removes it, or will, and knows the order.
 * `entry`: the entry continues with it. `nobody`: it may be removed.
 */
export type MachineIsFor = 'withdrawal' | 'entry' | 'nobody'

export interface MachineNeed {
  readonly state: EntryState
  /** Its source is off because of Drover. */
  readonly sourceOff: boolean
  readonly jobKind: string | null
  readonly jobState: JobState | null
  /** Its placement is on another target now. */
  readonly landsElsewhere: boolean
}

/** Undefined: the entry is gone. */
export const whoNeedsMachine = (entry: MachineNeed | undefined): MachineIsFor => {
  if (!entry) return 'nobody'
  const { state, jobKind, jobState } = entry
  if (state !== 'finished') {
    // A source that we switched off is started first.
    if (entry.sourceOff && hasEnded(state)) return 'withdrawal'
    if (jobKind === 'withdraw-entry' && jobState !== 'succeeded') return 'withdrawal'
  }
  return state === 'canceled' || entry.landsElsewhere ? 'nobody' : 'entry'
}
