import type { JobState } from './state.ts'

/** Why an ended job is not run again: it could only fail. */
const refusals = {
  'job-in-debt': {
    message: 'What the job left outside is being undone; it cannot run again before.',
    remedy: 'Wait until its debts are undone, or waive them; then run it again.',
  },
  'operation-ended': {
    message: 'The operation that the job did has ended.',
    remedy: 'Ask for the operation again.',
  },
  'entry-moved-on': {
    message: 'Its entry has gone on without the job, or is gone.',
    remedy: 'Look at the entry: it says where it is, and what can be done with it.',
  },
  'site-absent': {
    message: 'The source or target that it is about was removed.',
    remedy: 'Nothing is left to be done for it.',
  },
  'template-moved-on': {
    message: 'Its template has gone on without the job, or is forgotten.',
    remedy: 'Ask the template for what is wanted: `:recover` sends a new job.',
  },
  'image-absent': {
    message: 'Its image is deleted.',
    remedy: 'Import the image anew.',
  },
  'instance-absent': {
    message: 'Its source has no machine for its instance any more.',
    remedy: 'Sync the source, then look for the instance.',
  },
} as const

export type RetryRefusal = keyof typeof refusals

/** What has failed or was canceled may be run again; the other states say by themselves that it is not. */
export const runAgain: readonly JobState[] = ['failed', 'canceled']

/** What a job of these kinds is nothing without. */
export const neededBy: Readonly<
  Record<'entry' | 'site' | 'instance' | 'template' | 'image', readonly string[]>
> = {
  entry: ['place-instance', 'import-instance', 'cutover-instance', 'final-verify'],
  site: ['sync-source', 'sync-target', 'check-connection'],
  instance: ['power-instance', 'track-instance'],
  template: ['swap-template'],
  image: ['import-ova'],
}

/** Of a job in one of these states. What a job of its kind does not need counts as absent. */
export interface RetryFacts {
  readonly in_debt: boolean
  readonly operation_ended: boolean
  readonly has_entry: boolean
  readonly has_site: boolean
  readonly has_instance: boolean
  readonly has_template: boolean
  readonly has_image: boolean
}

/** Why running a job again could only fail; null when it may succeed, or nobody can ask for it. */
export const refuseRetry = (kind: string, facts: RetryFacts | null): RetryRefusal | null => {
  if (facts === null) return null
  if (facts.in_debt) return 'job-in-debt'
  if (facts.operation_ended) return 'operation-ended'
  if (neededBy.entry.includes(kind) && !facts.has_entry) return 'entry-moved-on'
  if (neededBy.site.includes(kind) && !facts.has_site) return 'site-absent'
  if (neededBy.instance.includes(kind) && !facts.has_instance) return 'instance-absent'
  if (neededBy.template.includes(kind) && !facts.has_template) return 'template-moved-on'
  if (neededBy.image.includes(kind) && !facts.has_image) return 'image-absent'
  return null
}

export const explainRetryRefusal = (code: RetryRefusal) => ({ code, ...refusals[code] })
