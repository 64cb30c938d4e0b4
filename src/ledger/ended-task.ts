import type { EffectRow } from '../../db/schema/effect.ts'
import type { WaitBounds } from '../domain/job/bounded-wait.ts'
import { DroverError } from '../errors.ts'
import { again, boundedWait } from '../platforms/ports/bounded-wait.ts'
import type { Found, TasksOf, TaskTrace, TaskVerb } from '../platforms/ports/task.ts'
import type { JobCall } from './job.ts'
import { findOlderTasks } from './older-tasks.ts'

/**
 * Waits for the platform tasks that an ended job has started, before an undo, a withdrawal or another operation acts on
 * the same machine. A task outlives its job: while it may still run, the state of the machine proves nothing, and
 * nothing may be undone.
 */

/** A call that may have started a task. The task can outlive the job that made the call. */
export interface Begun {
  /** The name of the call. */
  readonly name: string
  /** The recorded task id; null when the answer of the call was lost. */
  readonly taskId: string | null
}

export const begunBy = ({ name, externalId }: EffectRow): Begun => ({ name, taskId: externalId })

interface AskedTasks {
  /** The machine that the tasks work on; not given when the tasks create the machine. */
  readonly machine?: string
  readonly begun: readonly Begun[]
  /** What all the tasks do. Where a platform finds tasks by machine only, a task with another verb is not ours. */
  readonly verb?: TaskVerb | undefined
}

/**
 * Whether one of these tasks still runs. While a task runs, the state of the machine proves nothing, because the task
 * may change it. A failed read throws.
 */
export const isUnderWay = async (
  tasks: TasksOf,
  call: JobCall,
  { machine, begun, verb }: AskedTasks,
): Promise<boolean> => {
  for (const { name, taskId } of begun) {
    const trace = traceOf({ name, taskId }, { machine, verb })
    const found = await again(call, () => tasks.findTask(call, trace))
    if (!found.found) continue
    const { state } = await again(call, () => found.value.status(call))
    if (state === 'queued' || state === 'running') return true
  }
  return false
}

const traceOf = (
  { name, taskId }: Begun,
  { machine, verb }: { readonly machine?: string | undefined; readonly verb?: TaskVerb | undefined },
): TaskTrace => ({
  name,
  verb,
  ...(machine === undefined ? {} : { machine }),
  ...(taskId === null ? {} : { taskId }),
})

/** An undo has one minute in all. A task that takes longer leaves a debt, and the debt is retried later. */
const untilEnded: WaitBounds = { shortestMs: 250, longestMs: 250, share: 0, limitMs: 30_000 }

/** Waits until none of these tasks runs; throws when that takes too long. */
export const awaitTasks = (tasks: TasksOf, call: JobCall, asked: AskedTasks): Promise<void> =>
  boundedWait(call, untilEnded, async () =>
    (await isUnderWay(tasks, call, asked)) ? { over: stillUnderWay(asked.machine) } : { result: undefined },
  )

interface OfEffect {
  readonly effect: EffectRow
  readonly machine?: string
  readonly verb?: TaskVerb | undefined
}

/** Waits until the task of an effect has ended, with any result. An undo may act only after this. */
export const awaitTaskOf = async (tasks: TasksOf, call: JobCall, asked: OfEffect): Promise<void> => {
  const { effect, ...of } = asked
  const older = await again(call, () => findOlderTasks(tasks, call, asked))
  const begun = older?.map((name) => ({ name, taskId: null })) ?? [begunBy(effect)]
  await awaitTasks(tasks, call, { ...of, begun })
}

/**
 * The same, and returns the result of the task; not found: the task changed nothing. Throws while the result is
 * unknown; the caller retries later.
 */
export const resultOfTask = async (
  tasks: TasksOf,
  call: JobCall,
  asked: OfEffect,
): Promise<Found<string | null>> => {
  await awaitTaskOf(tasks, call, asked)
  const trace = traceOf(begunBy(asked.effect), asked)
  const found = await again(call, () => tasks.findTask(call, trace))
  if (!found.found) return found
  const seen = await again(call, () => found.value.status(call))
  if (seen.state === 'succeeded') return { found: true, value: seen.result }
  if (seen.state === 'failed') return { found: false }
  // Where a platform finds tasks by machine only, this may be a task of another client, started after ours ended.
  throw another(asked)
}

const another = ({ effect, machine = effect.platform }: OfEffect): DroverError =>
  new DroverError({
    code: 'task-under-way',
    class: 'transient',
    message: `A task runs on ${machine}, and the platform does not say who started it.`,
    remedy: 'Nothing to do: Drover checks again later.',
    detail: { machine },
  })

const stillUnderWay = (machine = 'a new machine'): DroverError =>
  new DroverError({
    code: 'task-under-way',
    class: 'transient',
    message: `A task of a job that has ended still runs on ${machine}.`,
    remedy:
      'Nothing to do: Drover checks again later. When the task does not end, look at the tasks of the platform.',
    detail: { machine },
  })
