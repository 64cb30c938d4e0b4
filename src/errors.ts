import type { ErrorClass } from './domain/job/retry.ts'

/** What an error says to a person and to a program. `remedy` is what to do next, never what happened. */
export interface ErrorFacts {
  readonly code: string
  readonly class: ErrorClass
  readonly message: string
  readonly remedy: string
  readonly field?: string
  readonly detail?: Record<string, unknown>
}

/** How an error is kept in a job row, an effect or an event. Holds no stack and no secret. */
export interface RecordedError {
  readonly code: string
  readonly class: ErrorClass
  readonly message: string
  readonly remedy: string
  readonly field?: string
  readonly detail?: Record<string, unknown>
}

/**
 * The one error type of Drover. `code` is stable and documented, `class` decides whether and when a job is
 * tried again, `message` is a sentence, `remedy` is what a person can do.
 */
export class DroverError extends Error {
  readonly code: string
  readonly class: ErrorClass
  readonly remedy: string
  readonly field: string | undefined
  readonly detail: Record<string, unknown> | undefined

  constructor(facts: ErrorFacts, options?: { cause?: unknown }) {
    super(facts.message, options)
    this.name = 'DroverError'
    this.code = facts.code
    this.class = facts.class
    this.remedy = facts.remedy
    this.field = facts.field
    this.detail = facts.detail
  }

  /** It is certain that what was asked for outside did not happen, and will not: a clear no. */
  get cameToNothing(): boolean {
    return false
  }
}

/** The lease is gone: somebody else owns the job now. Nothing more may be written or done for it. */
export class FencedError extends DroverError {
  constructor(jobId: string, epoch: number) {
    super({
      code: 'fenced',
      class: 'transient',
      message: `Job ${jobId} is no longer held at epoch ${epoch}; another worker may own it.`,
      remedy: 'Nothing to do: the current owner goes on with the job.',
      detail: { job_id: jobId, epoch },
    })
    this.name = 'FencedError'
  }
}

/** Anything thrown, as a DroverError. An error nobody foresaw is ours: class `bug`. */
export const asDroverError = (thrown: unknown): DroverError => {
  if (thrown instanceof DroverError) return thrown
  const cause = thrown instanceof Error ? thrown : new Error(String(thrown))
  return new DroverError(
    {
      code: 'unexpected',
      class: 'bug',
      message: `Unexpected error: ${cause.message}`,
      remedy: 'This is a defect in Drover. Look for the job id in the logs and report the stack found there.',
    },
    { cause },
  )
}

export const recordError = (error: DroverError): RecordedError => ({
  code: error.code,
  class: error.class,
  message: error.message,
  remedy: error.remedy,
  ...(error.field === undefined ? {} : { field: error.field }),
  ...(error.detail === undefined ? {} : { detail: error.detail }),
})
