import { defineTable, type Move } from '../table/state-table.ts'

const events = [
  'claim',
  'wait-for-tokens',
  'succeed',
  'fail',
  'retry',
  'release',
  'wait',
  'wait-over',
  'lease-expired',
  'give-up',
  'wake',
  'ask-cancel',
  'cancel',
  'deadline',
  'redrive',
] as const
/** What can happen to a job. */
export type JobEvent = (typeof events)[number]

/** The states of a job. Everything else a job shows (why it waits, who holds it) hangs on its state. */
const states = {
  ready: { says: 'It is due, or will be: a worker takes it then.', starts: true },
  running: { says: 'A worker holds its lease.' },
  waiting: { says: 'It waits for a signal, for tokens, or for a moment.' },
  succeeded: { says: 'It has done its work.', terminal: true },
  failed: { says: 'It has given up; its error says why.', terminal: true },
  canceled: { says: 'Somebody gave it up.', terminal: true },
} as const
export type JobState = keyof typeof states

interface JobMove extends Move<JobState, JobEvent> {
  readonly to: JobState
  /** The type of its event in the history. */
  readonly tells: `job.${string}`
}

const open = ['ready', 'running', 'waiting'] as const satisfies readonly JobState[]

const moves: readonly JobMove[] = [
  {
    event: 'claim',
    from: ['ready'],
    to: 'running',
    cause: 'worker',
    tells: 'job.running',
    says: 'A worker takes it, under a new lease epoch.',
  },
  {
    event: 'wait-for-tokens',
    from: ['ready'],
    to: 'waiting',
    cause: 'worker',
    tells: 'job.waiting',
    says: 'A claim found an admission token full: the job stands in line instead of running.',
  },
  {
    event: 'succeed',
    from: ['running'],
    to: 'succeeded',
    cause: 'worker',
    tells: 'job.succeeded',
    says: 'The handler is done.',
  },
  {
    event: 'fail',
    from: ['running'],
    to: 'failed',
    cause: 'worker',
    tells: 'job.failed',
    says: 'The handler failed, and another try would not help; its effects are undone first.',
  },
  {
    event: 'retry',
    from: ['running'],
    to: 'ready',
    cause: 'worker',
    tells: 'job.retried',
    says: 'The handler failed, and is tried again after a pause.',
  },
  {
    event: 'release',
    from: ['running'],
    to: 'ready',
    cause: 'worker',
    tells: 'job.released',
    says: 'The worker gives it back unfinished and says why.',
  },
  {
    event: 'wait',
    from: ['running'],
    to: 'waiting',
    cause: 'worker',
    tells: 'job.waiting',
    says: 'The handler waits for a signal or a moment.',
  },
  {
    event: 'wait-over',
    from: ['running'],
    to: 'ready',
    cause: 'worker',
    tells: 'job.waiting',
    says: 'The signal, or a cancel, came while the handler decided to wait: there is nothing to wait for.',
  },
  {
    event: 'lease-expired',
    from: ['running'],
    to: 'ready',
    cause: 'conductor',
    tells: 'job.lost',
    says: 'Its worker fell silent: another worker may take it.',
  },
  {
    event: 'give-up',
    from: ['running'],
    to: 'failed',
    cause: 'conductor',
    tells: 'job.failed',
    says: 'Too many of its workers fell silent: the job itself is the suspect.',
  },
  {
    event: 'wake',
    from: ['waiting'],
    to: 'ready',
    cause: 'conductor',
    tells: 'job.woken',
    says: 'The signal came, its tokens are free, or the wait is over.',
  },
  {
    event: 'ask-cancel',
    from: ['ready', 'waiting'],
    to: 'ready',
    cause: 'person',
    tells: 'job.cancel-requested',
    says: 'It is given up and has left effects: a worker undoes them first.',
  },
  {
    event: 'ask-cancel',
    from: ['running'],
    to: 'running',
    cause: 'person',
    tells: 'job.cancel-requested',
    says: 'It is given up while a worker runs it: that worker ends it.',
  },
  {
    event: 'cancel',
    from: open,
    to: 'canceled',
    cause: 'person',
    tells: 'job.canceled',
    says: 'It is given up, and nothing of it is left to undo.',
  },
  {
    event: 'deadline',
    from: open,
    to: 'failed',
    cause: 'conductor',
    tells: 'job.failed',
    says: 'It has not ended by its deadline.',
  },
  {
    event: 'redrive',
    from: ['failed', 'canceled'],
    to: 'ready',
    cause: 'person',
    tells: 'job.redriven',
    says: 'A new generation: budgets afresh, checkpoint kept.',
  },
]

/** Every move of a job, drawn in `docs/jobs.md`. Statements take their states from here: `db/state-words.ts`. */
export const jobTable = defineTable({ subject: 'job', states, events, moves })

export const jobStates = jobTable.states

export const isTerminal = (state: JobState): boolean => jobTable.terminal.includes(state)
