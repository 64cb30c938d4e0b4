import { isTerminal, type JobState } from '../../job/state.ts'
import { type OperationKind, variantText } from './kinds.ts'
import { hasEnded, type OperationState } from './state.ts'

/** Whether an operation has ended while its job or a debt of it can still change the machine. */
export const isStillActive = ({
  state,
  jobState,
  owes,
}: {
  readonly state: OperationState
  readonly jobState: JobState | null
  /** Its job has ended and left a debt: a task that it started may still run. */
  readonly owes: boolean
}): boolean => hasEnded(state) && (owes || (jobState !== null && !isTerminal(jobState)))

/** An operation that has ended and is still active at its machine. */
export interface StillActiveOperation {
  readonly id: string
  readonly kind: OperationKind
  readonly force: boolean
  readonly state: string
  readonly endedSeconds: number
  readonly jobState: JobState
  readonly debts: number
  readonly tries: number
  readonly lastError: string | null
}

export interface StillActiveWait {
  readonly reason: 'awaiting-older' | 'older-keeps-on'
  readonly message: string
  /** When to look again, unless a signal says earlier that the operation has settled. */
  readonly forMs: number
}

const lookMs = 30_000

/** How the next operation waits for operations that are still active. The reason and the message name them. */
export const decideStillActiveWait = (
  older: readonly StillActiveOperation[],
  boundSeconds: number,
): StillActiveWait => {
  const longest = Math.max(0, ...older.map(({ endedSeconds }) => endedSeconds))
  const overdue = longest >= boundSeconds
  const leftMs = Math.max(100, (boundSeconds - longest) * 1_000)
  return {
    reason: overdue ? 'older-keeps-on' : 'awaiting-older',
    message: older.map(stillActiveText).join(' '),
    forMs: overdue ? lookMs : Math.min(lookMs, leftMs),
  }
}

/** A sentence for people: which operation is still active, and why. */
export const stillActiveText = (older: StillActiveOperation): string => {
  const { kind, force, id, state, debts, tries, lastError } = older
  const who = `${variantText({ kind, force })} ${id} (${state}) is still active`
  const why = lastError === null ? '' : ` The last error: ${lastError}`
  if (debts === 0) return `${who}: its job is ${older.jobState}.${isTerminal(older.jobState) ? '' : why}`
  const effects = debts === 1 ? 'one of its effects is' : `${debts} of its effects are`
  return `${who}: ${effects} still to be undone, tried ${tries === 1 ? 'once' : `${tries} times`}.${why}`
}
