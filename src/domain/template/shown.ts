import type { ErrorClass } from '../job/retry.ts'
import type { ImageState } from './image.ts'
import type { TemplateState } from './state.ts'

interface SaidError {
  readonly code: string
  readonly class: ErrorClass
  readonly message: string
  readonly remedy: string
}

/** The state of the newest job; null: no job was sent, or the job is no longer kept. */
interface JobOf {
  readonly jobState: string | null
  readonly jobError: SaidError | null
}

/** A pause of a kind or a lane of jobs. */
export interface JobPause {
  readonly by: string
  readonly scope: string
  readonly name: string
  readonly reason: string
}

const givenUp = { reason: 'job-canceled', message: 'The job was canceled.' } as const
const lost = { reason: 'job-lost', message: 'The job has ended, and its result is no longer known.' } as const

/** The reason of a template's state, for people. A job that ended without completing the swap is the reason. */
export const shownReason = (
  of: JobOf & {
    readonly state: TemplateState
    readonly reason: string
    readonly message: string
    readonly jobWaitDetail: string | null
    readonly jobPause: JobPause | null
  },
): { readonly reason: string; readonly message: string } => {
  if (of.state !== 'swapping') return { reason: of.reason, message: of.message }
  if (of.jobState === 'failed')
    return { reason: 'job-failed', message: of.jobError?.message ?? 'The job has failed.' }
  if (of.jobState === 'canceled') return givenUp
  if (of.jobState === null || of.jobState === 'succeeded') return lost
  const { jobPause: pause } = of
  if (pause)
    return {
      reason: 'paused',
      message: `${pause.by} paused the ${pause.scope} ${pause.name}: ${pause.reason}`,
    }
  return { reason: of.reason, message: of.jobWaitDetail ?? of.message }
}

/** Why an image is not available. */
export const shownError = (
  of: JobOf & { readonly shownState: ImageState; readonly error: SaidError | null },
): SaidError | null => {
  if (of.shownState !== 'failed') return of.error
  const ended = of.jobState === 'canceled' ? givenUp : lost
  return (
    of.error ??
    of.jobError ?? {
      code: ended.reason,
      class: 'permanent',
      message: ended.message,
      remedy: 'Run the job again, or delete the image and import it again.',
    }
  )
}
