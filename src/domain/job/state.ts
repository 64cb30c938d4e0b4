/** The states of a job. Everything else a job shows (why it waits, who holds it) hangs on one of these. */
export const jobStates = ['ready', 'running', 'waiting', 'succeeded', 'failed', 'canceled'] as const
export type JobState = (typeof jobStates)[number]

/** What can happen to a job. Each is one verb in `db/queries`. */
export const jobEvents = [
  'claim',
  'succeed',
  'fail',
  'retry',
  'release',
  'wait',
  'lease-expired',
  'wake',
  'cancel',
  'deadline',
  'redrive',
] as const
export type JobEvent = (typeof jobEvents)[number]

/**
 * The transition table: the one place that says what may follow what. Enforced by the `where` of every verb,
 * by the database's trigger-free checks in the invariant checker, and drawn in `docs/jobs.md`.
 */
export const jobTransitions: Readonly<
  Record<JobState, Readonly<Partial<Record<JobEvent, readonly JobState[]>>>>
> = {
  ready: { claim: ['running', 'waiting'], cancel: ['canceled', 'ready'], deadline: ['failed'] },
  running: {
    succeed: ['succeeded'],
    fail: ['failed'],
    retry: ['ready'],
    release: ['ready'],
    wait: ['waiting', 'ready'],
    'lease-expired': ['ready', 'failed'],
    cancel: ['canceled', 'running'],
    deadline: ['failed'],
  },
  waiting: { wake: ['ready'], cancel: ['canceled', 'ready'], deadline: ['failed'] },
  succeeded: {},
  failed: { redrive: ['ready'] },
  canceled: { redrive: ['ready'] },
}

export const terminalStates = ['succeeded', 'failed', 'canceled'] as const satisfies readonly JobState[]

export const isTerminal = (state: JobState): boolean =>
  (terminalStates as readonly JobState[]).includes(state)

export const mayBecome = (from: JobState, event: JobEvent, to: JobState): boolean =>
  jobTransitions[from][event]?.includes(to) ?? false
