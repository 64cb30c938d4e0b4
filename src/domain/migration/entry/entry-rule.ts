import type { Move } from '../../table/state-table.ts'
import type { EntryPlace, EntryStage, EntryState } from './entry.ts'

/**
 * What can happen to an entry. Among these are a person's verbs: `cancel`, `retry`, `resolve`, `reset`. `let-go`: its
 * window closed, or its job was cancelled without the entry.
 */
export const entryEvents = [
  'block',
  'unblock',
  'create',
  'created',
  'create-put-off',
  'sync-begin',
  'sync-done',
  'sync-put-off',
  'cutover-begin',
  'copied',
  'post-begin',
  'post-done',
  'verified',
  'copy-stale',
  'conflict',
  'identity-changed',
  'let-go',
  'fail',
  'cancel',
  'retry',
  'resolve',
  'reset',
] as const
export type EntryEvent = (typeof entryEvents)[number]

/**
 * What a transition does outside, in addition to the work of the state itself.
 *
 * `start`: a source that we switched off is started again, after our copy of it is proved off. `person`: only a person
 * may start it, because it may be another machine by now.
 */
type SourceRule = 'keep' | 'start' | 'person'
/** `asked`: as the person requested (`cleanup`). */
type TargetRule = 'keep' | 'destroy' | 'asked'

export interface EntryRule extends Move<EntryState, EntryEvent, EntryStage> {
  readonly source: SourceRule
  readonly target: TargetRule
  /** States from which a person must use `force`: hours of work, or the proof itself, would be lost. */
  readonly force?: readonly EntryState[]
  /** Also wherever the source is off because of Drover. */
  readonly forceIfCommitted?: boolean
  /** For an entry that is to be removed: its place until the withdrawal has ended. */
  readonly leavesAs?: EntryPlace
}

type Optional = 'source' | 'target' | 'cause'

/** A rule with defaults for everything it does not name; caused by a worker unless it says otherwise. */
export const row = (rule: Omit<EntryRule, Optional> & Partial<EntryRule>): EntryRule => ({
  cause: 'worker',
  source: 'keep',
  target: 'keep',
  ...rule,
})
