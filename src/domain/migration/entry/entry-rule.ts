import type { Move } from '../../table/state-table.ts'
import type { EntryPlace, EntryStage, EntryState } from './entry.ts'

/**
 * What can happen to an entry. A person's verbs are among them: `cancel`, `retry`, `resolve`, `reset`. `let-go`: its
 * window closed, or its work was called off without the entry being given up.
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
 * What a transition does outside, besides what the state's own work does.
 *
 * `start`: a source that we switched off is switched on again, after our copy of it is proved off. `person`: nobody
 * but a person may start it: we no longer know that it is the same machine.
 */
type SourceRule = 'keep' | 'start' | 'person'
/** `asked`: as the person said (`cleanup`). */
type TargetRule = 'keep' | 'destroy' | 'asked'

export interface EntryRule extends Move<EntryState, EntryEvent, EntryStage> {
  readonly source: SourceRule
  readonly target: TargetRule
  /** States from which a person must say `force`: hours of work, or the proof itself, are thrown away. */
  readonly force?: readonly EntryState[]
  /** And from wherever the source is off on our account. */
  readonly forceIfCommitted?: boolean
  /** Of an entry that goes: where it stands until what it left outside is put right. */
  readonly leavesAs?: EntryPlace
}

type Optional = 'source' | 'target' | 'cause'

/** A rule that leaves alone what it does not name; who sets it off is a worker, unless another is named. */
export const row = (rule: Omit<EntryRule, Optional> & Partial<EntryRule>): EntryRule => ({
  cause: 'worker',
  source: 'keep',
  target: 'keep',
  ...rule,
})
