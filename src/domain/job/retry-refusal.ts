/** Why an ended job is not run again: nothing would come of it. */
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
  'instance-absent': {
    message: 'Its source has no machine for its instance any more.',
    remedy: 'Sync the source, then look for the instance.',
  },
} as const

export type RetryRefusal = keyof typeof refusals

export const explainRetryRefusal = (code: RetryRefusal) => ({ code, ...refusals[code] })
