import type { ErrorClass } from '../job/retry.ts'
import type { ImageState } from './image.ts'
import type { TemplateState } from './state.ts'

interface SaidError {
  readonly code: string
  readonly class: ErrorClass
  readonly message: string
  readonly remedy: string
}

/** How the newest job stands; null: it was never sent, or is no longer kept. */
interface JobOf {
  readonly jobState: string | null
  readonly jobError: SaidError | null
}

const givenUp = { reason: 'job-canceled', message: 'The job was canceled.' } as const
const lost = { reason: 'job-lost', message: 'The job has ended, and how is no longer known.' } as const

/** Why a template is where it is, for people: a job that has ended without its swap says so. */
export const shownReason = (
  of: JobOf & {
    readonly state: TemplateState
    readonly reason: string
    readonly message: string
    readonly jobWaitDetail: string | null
  },
): { readonly reason: string; readonly message: string } => {
  if (of.state !== 'swapping') return { reason: of.reason, message: of.message }
  if (of.jobState === 'failed')
    return { reason: 'job-failed', message: of.jobError?.message ?? 'The job has failed.' }
  if (of.jobState === 'canceled') return givenUp
  if (of.jobState === null || of.jobState === 'succeeded') return lost
  return { reason: of.reason, message: of.jobWaitDetail ?? of.message }
}

/** Why an image is not there. */
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
      remedy: 'Run the job again, or delete the image and import it anew.',
    }
  )
}
