import type { EffectRow } from '../../db/schema/effect.ts'
import { systemClock } from '../clock.ts'
import { DroverError } from '../errors.ts'
import { again } from '../platforms/again.ts'
import type { Call } from '../platforms/call.ts'
import type { TasksOf, TaskVerb } from '../platforms/ports/task.ts'

/** A call that began work of a platform, or may have: the work goes on when the job that asked for it has ended. */
export interface Begun {
  /** Of the call. */
  readonly name: string
  /** As it was recorded; null when the answer was lost. */
  readonly taskId: string | null
}

export const begunBy = ({ name, externalId }: EffectRow): Begun => ({ name, taskId: externalId })

interface AskedTasks {
  readonly machine: string
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
  call: Call,
  { machine, begun, verb }: AskedTasks,
): Promise<boolean> => {
  for (const { name, taskId } of begun) {
    const trace = { name, machine, verb, ...(taskId === null ? {} : { taskId }) }
    const found = await again(call.signal, () => tasks.findTask(call, trace))
    if (!found.found) continue
    const { state } = await again(call.signal, () => found.value.status(call))
    if (state === 'queued' || state === 'running') return true
  }
  return false
}

const lookMs = 250

/** Waits until the platform is at none of these any more; throws when that takes longer than `patienceMs`. */
export const awaitTasks = async (
  tasks: TasksOf,
  call: Call,
  asked: AskedTasks & { readonly patienceMs: number },
): Promise<void> => {
  const until = systemClock.monotonicMs() + asked.patienceMs
  while (await isUnderWay(tasks, call, asked)) {
    if (systemClock.monotonicMs() >= until) throw stillUnderWay(asked.machine)
    await systemClock.sleep(lookMs, call.signal)
    call.signal.throwIfAborted()
  }
}

const stillUnderWay = (machine: string): DroverError =>
  new DroverError({
    code: 'task-under-way',
    class: 'transient',
    message: `The platform is still at work on ${machine} for a job that has ended.`,
    remedy: 'Nothing to do: it is looked at again. When it stays so, look at the tasks of the platform.',
    detail: { machine },
  })
