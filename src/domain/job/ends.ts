import type { JobState } from './state.ts'

/** An error as a job or an effect stores it. */
export interface KeptError {
  readonly code: string
  readonly class: 'transient' | 'permanent'
  readonly message: string
  readonly remedy: string
}

/**
 * Undefined: another worker may take the job. A kind that this version does not know (`lostMax` undefined) is never
 * given up.
 */
export const whyGivenUp = (lost: number, lostMax: number | undefined): KeptError | undefined =>
  lostMax === undefined || lost + 1 < lostMax
    ? undefined
    : {
        code: 'worker-lost',
        class: 'permanent',
        message: `The worker that ran this job vanished ${lost + 1} times.`,
        remedy: "Look in the workers' logs for what ended them (memory, a crash), then retry the job.",
      }

export const pastDeadline = (state: JobState): KeptError => ({
  code: 'deadline-passed',
  class: 'permanent',
  message: `The job did not end by its deadline; it was ${state} then.`,
  remedy: 'Retry it with a later deadline, after looking at what it waited for.',
})

/** An effect that a job intended and whose outcome was never recorded. */
export interface OpenIntent {
  /** Something may be left behind. */
  readonly hasUndo: boolean
  /** The platform clearly refused. */
  readonly refused: boolean
}

/** What becomes of an intent when its job is over. */
export interface ClosedIntent {
  readonly to: 'undone' | 'debt'
  readonly reason: string
  readonly error: KeptError | null
}

/** After a clear refusal, or with nothing to leave behind: undone. Everything else is unknown, which is not absent. */
export const closeIntent = ({ hasUndo, refused }: OpenIntent): ClosedIntent =>
  refused || !hasUndo
    ? { to: 'undone', reason: 'nothing came of it', error: null }
    : {
        to: 'debt',
        reason: 'outcome-unknown',
        error: {
          code: 'outcome-unknown',
          class: 'transient',
          message: 'Its job has ended, and what came of it was never learnt.',
          remedy: 'It is looked at by itself as soon as a worker and the platform are there.',
        },
      }

/** What a job that ended without a worker has left outside. */
export const leftBehind = (why: string): KeptError => ({
  code: 'left-behind',
  class: 'transient',
  message: why,
  remedy: 'It is undone by itself as soon as a worker and the platform are there.',
})
