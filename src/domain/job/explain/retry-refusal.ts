import type { JobNeed } from '../kind.ts'
import { findKind } from '../kinds/registry.ts'
import type { JobState } from '../state.ts'

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

const without: Readonly<Record<JobNeed, RetryRefusal>> = {
  operation: 'operation-ended',
  entry: 'entry-moved-on',
  site: 'site-absent',
  instance: 'instance-absent',
  template: 'template-moved-on',
  image: 'image-absent',
}

/** What has failed or was canceled may be run again; the other states say by themselves that it is not. */
export const runAgain: readonly JobState[] = ['failed', 'canceled']

/** Of a job in one of these states. */
export interface RetryFacts {
  readonly inDebt: boolean
  /** What jobs of its kind are nothing without is there. */
  readonly hasNeeded: boolean
}

/** Why running a job again could only fail; null when it may succeed, or nobody can ask for it. */
export const refuseRetry = (kind: string, facts: RetryFacts | null): RetryRefusal | null => {
  if (facts === null) return null
  if (facts.inDebt) return 'job-in-debt'
  const needs = findKind(kind)?.needs ?? null
  return needs === null || facts.hasNeeded ? null : without[needs]
}

export const explainRetryRefusal = (code: RetryRefusal) => ({ code, ...refusals[code] })
