/**
 * What is next with a task of a platform, as a table of what is seen. Pure: a failed look is no row of it. What was
 * not seen stays `unseen`, and the next step is to look.
 */

/**
 * What our own record says of the task of this name: nothing was ever asked for; it was intended and no answer was
 * recorded; the platform took it on; it has come to its end.
 */
export const taskRecords = ['none', 'intended', 'asked', 'ended'] as const
/** What the platform says of it. `working` is queued or running. */
export const taskSights = ['unseen', 'absent', 'working', 'succeeded', 'failed'] as const
/** `untold`: found by the machine that it works on alone, so it may be anybody's. */
export const taskOwners = ['ours', 'untold'] as const
/** Whether that is there which the task was to make, as the thing itself tells. */
export const taskResults = ['unseen', 'there', 'absent'] as const
/** What is done when a task was taken on, is unknown by now, and has left nothing. */
export const taskRepeats = ['anew', 'never'] as const

export interface TaskSeen {
  readonly recorded: (typeof taskRecords)[number]
  readonly task: (typeof taskSights)[number]
  readonly whose: (typeof taskOwners)[number]
  readonly made: (typeof taskResults)[number]
  readonly repeat: (typeof taskRepeats)[number]
  /** Tasks that have failed before this one, each under a name of its own. */
  readonly failed: number
  /** So many may fail. */
  readonly most: number
}

export type TaskStep =
  /** Ask the platform. The intent is committed before. */
  | 'begin'
  | 'look-at-task'
  | 'look-at-result'
  /** An earlier turn has begun it, or it is there: record that, and ask for nothing. */
  | 'adopt'
  /** Wait for it. */
  | 'follow'
  | 'ended'
  /** Nothing has come of it: it is counted, and the next try has the next name. */
  | 'anew'
  /** The same, and it was one too many. */
  | 'give-up'
  /** Somebody's task is at work there: wait until that is over, and begin nothing beside it. */
  | 'refuse-anothers'
  /** It was taken on, and nobody can tell whether it was done. The subject decides, or a person. */
  | 'outcome-unknown'

interface Row {
  readonly when: { readonly [Key in keyof TaskSeen]?: readonly TaskSeen[Key][] }
  readonly step: TaskStep
}

/** Read from above; the first row that fits holds. */
export const taskTable: readonly Row[] = [
  { when: { recorded: ['ended'] }, step: 'ended' },
  { when: { recorded: ['none'] }, step: 'begin' },
  { when: { task: ['unseen'] }, step: 'look-at-task' },
  // Its own word comes first: what there is may be about to change.
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
  // A task of anybody that ended while it was looked at: the next turn tells whether it was ours.
  {
    when: { task: ['succeeded', 'failed'], whose: ['untold'], recorded: ['intended'] },
    step: 'refuse-anothers',
  },
  // Nothing was begun under this name: it is used as it was intended.
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
 * The one policy for names: `<job>/<part>`, then `<job>/<part>/<tasks that failed>`. The same on every turn; a name whose
 * task failed is not used again.
 */
export const taskName = (jobId: string, part: string, failed: number): string =>
  `${jobId}/${part}${failed > 0 ? `/${failed}` : ''}`
