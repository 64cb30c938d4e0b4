import type { EffectRow } from '../../db/schema/effect.ts'
import { DroverError } from '../errors.ts'
import { again } from '../platforms/ports/again.ts'
import type { Found, TasksOf, TaskTrace, TaskVerb } from '../platforms/ports/task.ts'
import type { JobCall } from './job.ts'
import { findOlderTasks } from './older-tasks.ts'

/**
 * The end of what a job began at a platform, for whoever comes after it: an undo, a withdrawal, another operation. A
 * task outlives its job, so nothing is concluded from what is seen of a machine, and nothing is taken back, while ours
 * may still be at work on it.
 */

/** A call that began work of a platform, or may have: the work goes on when the job that asked for it has ended. */
export interface Begun {
  /** Of the call. */
  readonly name: string
  /** As it was recorded; null when the answer was lost. */
  readonly taskId: string | null
}

export const begunBy = ({ name, externalId }: EffectRow): Begun => ({ name, taskId: externalId })

interface AskedTasks {
  /** What they work on; not given where they make it. */
  readonly machine?: string
  readonly begun: readonly Begun[]
  /** What all of them were to do: where tasks are known by their machine alone, work of another sort is another's. */
  readonly verb?: TaskVerb | undefined
}

/**
 * Whether the platform is still at one of these. As long as it is, the state of the machine says nothing: what is seen
 * of it is about to change. A look that fails throws.
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

const lookMs = 250
/** An undo has a minute in all. What takes longer stays owed, and is looked at again later. */
const waitLimitMs = 30_000

/** Waits until the platform is at none of these any more; throws when that takes too long. */
export const awaitTasks = async (tasks: TasksOf, call: JobCall, asked: AskedTasks): Promise<void> => {
  const until = call.clock.monotonicMs() + waitLimitMs
  while (await isUnderWay(tasks, call, asked)) {
    if (call.clock.monotonicMs() >= until) throw stillUnderWay(asked.machine)
    await call.clock.sleep(lookMs, call.signal)
    call.signal.throwIfAborted()
  }
}

interface OfEffect {
  readonly effect: EffectRow
  readonly machine?: string
  readonly verb?: TaskVerb | undefined
}

/** Waits until what an effect began has come to its end, however it ended. An undo acts after this, and not before. */
export const awaitTaskOf = async (tasks: TasksOf, call: JobCall, asked: OfEffect): Promise<void> => {
  const { effect, ...of } = asked
  const older = await again(call, () => findOlderTasks(tasks, call, asked))
  const begun = older?.map((name) => ({ name, taskId: null })) ?? [begunBy(effect)]
  await awaitTasks(tasks, call, { ...of, begun })
}

/**
 * The same, and tells what it made; not found: nothing has come of it. It throws while that cannot be told: then it is
 * looked at again later.
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
  // Where tasks are known by their machine alone, somebody else's may have begun after ours had ended.
  throw another(asked)
}

const another = ({ effect, machine = effect.platform }: OfEffect): DroverError =>
  new DroverError({
    code: 'task-under-way',
    class: 'transient',
    message: `The platform is at work on ${machine}, and whose work that is cannot be told.`,
    remedy: 'Nothing to do: it is looked at again.',
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
