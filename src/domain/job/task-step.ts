/**
 * The next step of a platform's task, as a table of what was seen. Pure: a failed look has no row. Anything not yet
 * looked at is `unseen`, and the next step is to look.
 */

/**
 * Our own record of the task with this name: nothing was requested; it was intended and no answer was recorded; the
 * platform accepted it; it has ended.
 */
export const taskRecords = ['none', 'intended', 'asked', 'ended'] as const
/** What the platform says of the task. `working` is queued or running. */
export const taskSights = ['unseen', 'absent', 'working', 'succeeded', 'failed'] as const
/** `untold`: found only by its machine, so it may be anybody's. */
export const taskOwners = ['ours', 'untold'] as const
/** Whether the result of the task exists, as the thing itself shows. */
export const taskResults = ['unseen', 'there', 'absent'] as const
/** What to do when an accepted task is unknown by now and has left no result. */
export const taskRepeats = ['anew', 'never'] as const

export interface TaskSeen {
  readonly recorded: (typeof taskRecords)[number]
  readonly task: (typeof taskSights)[number]
  readonly whose: (typeof taskOwners)[number]
  readonly made: (typeof taskResults)[number]
  readonly repeat: (typeof taskRepeats)[number]
  /** Earlier failed tasks, each with a name of its own. */
  readonly failed: number
  /** The most tasks that may fail. */
  readonly most: number
}

export type TaskStep =
  /** Ask the platform. The intent is committed first. */
  | 'begin'
  | 'look-at-task'
  | 'look-at-result'
  /** An earlier turn has begun the task, or its result exists: record that, and request nothing. */
  | 'adopt'
  /** Wait for the task. */
  | 'follow'
  | 'ended'
  /** It had no result: count it, and use the next name. */
  | 'anew'
  /** The same, and it was one too many. */
  | 'give-up'
  /** Another's task is running there: wait until it ends, and begin nothing next to it. */
  | 'refuse-anothers'
  /** The task was accepted, and nobody can tell whether it was done. The subject or a person decides. */
  | 'outcome-unknown'

interface Row {
  readonly when: { readonly [Key in keyof TaskSeen]?: readonly TaskSeen[Key][] }
  readonly step: TaskStep
}

/** Read from the top; the first row that fits applies. */
export const taskTable: readonly Row[] = [
  { when: { recorded: ['ended'] }, step: 'ended' },
  { when: { recorded: ['none'] }, step: 'begin' },
  { when: { task: ['unseen'] }, step: 'look-at-task' },
  // The task's own report comes first: its result may be about to change.
  { when: { task: ['working'], whose: ['ours'], recorded: ['intended'] }, step: 'adopt' },
  { when: { task: ['working'], whose: ['ours'] }, step: 'follow' },
  { when: { task: ['succeeded'], whose: ['ours'], recorded: ['intended'] }, step: 'adopt' },
  { when: { task: ['succeeded'], whose: ['ours'] }, step: 'ended' },
  // A failed or forgotten task may have done its work all the same.
  { when: { made: ['unseen'] }, step: 'look-at-result' },
  { when: { made: ['there'], recorded: ['intended'] }, step: 'adopt' },
  { when: { made: ['there'] }, step: 'ended' },
  { when: { task: ['working'], recorded: ['intended'] }, step: 'refuse-anothers' },
  { when: { task: ['working'] }, step: 'follow' },
  // Under this name the platform would give the same answer for ever.
  { when: { task: ['failed'], whose: ['ours'], recorded: ['intended'] }, step: 'adopt' },
  { when: { task: ['failed'], whose: ['ours'] }, step: 'anew' },
  // A task of unknown owner that ended during the look: the next turn tells whether it was ours.
  {
    when: { task: ['succeeded', 'failed'], whose: ['untold'], recorded: ['intended'] },
    step: 'refuse-anothers',
  },
  // Nothing was begun under this name: it is used as intended.
  { when: { recorded: ['intended'] }, step: 'begin' },
  { when: { repeat: ['never'] }, step: 'outcome-unknown' },
  { when: {}, step: 'anew' },
]

const fits = ({ when }: Row, seen: TaskSeen): boolean =>
  (Object.keys(when) as (keyof TaskSeen)[]).every((key) =>
    (when[key] as readonly unknown[] | undefined)?.includes(seen[key]),
  )

export const nextTaskStep = (seen: TaskSeen): TaskStep => {
  const step = taskTable.find((row) => fits(row, seen))?.step
  if (step === undefined) throw new Error('The table of tasks has no row for what is seen.')
  return step === 'anew' && seen.failed + 1 >= seen.most ? 'give-up' : step
}

/**
 * The naming policy: `<job>/<part>`, then `<job>/<part>/<failed tasks>`. The same on every turn; the name of a failed
 * task is not used again.
 */
export const taskName = (jobId: string, part: string, failed: number): string =>
  `${jobId}/${part}${failed > 0 ? `/${failed}` : ''}`
