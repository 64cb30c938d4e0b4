import type { EffectRow } from '../db/schema/effect.ts'
import type { JobKind } from '../src/domain/job/kind.ts'
import type { Fenced } from '../src/ledger/effects.ts'
import type { DomainChange } from '../src/ledger/settle.ts'
import type { JobContext } from './context.ts'

/** How a handler's turn ends when it does not throw. */
export type Outcome =
  | {
      readonly type: 'done'
      readonly result?: Record<string, unknown>
      /** Committed with the outcome, under the fence, or not at all. */
      readonly change?: DomainChange
      /** Takes the locks that come before the job's own, where the change needs such. */
      readonly lock?: DomainChange
    }
  | {
      readonly type: 'wait'
      /** Stable word for programs, such as `guest-shutdown`. */
      readonly reason: string
      /** Sentence for people: what it waits for and what would end it. */
      readonly detail: string
      /** Every wait has an end: after this the handler is called again and decides. */
      readonly forMs: number
      readonly signal?: string
      readonly change?: DomainChange
      readonly lock?: DomainChange
    }

export const done = (
  result?: Record<string, unknown>,
  change?: DomainChange,
  lock?: DomainChange,
): Outcome => ({
  type: 'done',
  ...(result === undefined ? {} : { result }),
  ...(change === undefined ? {} : { change }),
  ...(lock === undefined ? {} : { lock }),
})

export const waitFor = (wait: Omit<Extract<Outcome, { type: 'wait' }>, 'type'>): Outcome => ({
  type: 'wait',
  ...wait,
})

/**
 * Undoes one effect. Must bear being called for what is gone already, or was never done. `confirm` throws when the
 * lease may be over by the clock: for the line before something is changed outside. `fenced` is for what is changed in
 * Postgres: it is refused when the lease was lost, by whoever stood still in the middle.
 */
export type Undoer = (
  effect: EffectRow,
  signal: AbortSignal,
  confirm: () => void,
  fenced: Fenced,
) => Promise<void>

/**
 * Does the work of one job kind: looks, asks the domain what is next, acts through `ctx.effect`, records. It
 * may be stopped between any two lines and called again with what it has checkpointed.
 */
export interface Handler<Payload = unknown> {
  readonly kind: JobKind<Payload>
  run(ctx: JobContext<Payload>): Promise<Outcome>
  /** How the effects of this handler are undone, by effect kind. */
  readonly undoers?: Readonly<Record<string, Undoer>>
}
