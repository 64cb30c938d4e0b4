import type { EffectRow } from '../../db/schema/effect.ts'
import { DroverError } from '../errors.ts'
import type { JobCall } from '../ledger/job.ts'
import type { TasksOf, TaskVerb } from '../platforms/ports/task.ts'
import { again } from './copy/again.ts'

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
  call: JobCall,
  { machine, begun, verb }: AskedTasks,
): Promise<boolean> => {
  for (const { name, taskId } of begun) {
    const trace = { name, machine, verb, ...(taskId === null ? {} : { taskId }) }
    const found = await again(call, () => tasks.findTask(call, trace))
    if (!found.found) continue
    const { state } = await again(call, () => found.value.status(call))
    if (state === 'queued' || state === 'running') return true
  }
  return false
}

const lookMs = 250

/** Waits until the platform is at none of these any more; throws when that takes longer than `patienceMs`. */
export const awaitTasks = async (
  tasks: TasksOf,
  call: JobCall,
  asked: AskedTasks & { readonly patienceMs: number },
): Promise<void> => {
  const until = call.clock.monotonicMs() + asked.patienceMs
  while (await isUnderWay(tasks, call, asked)) {
    if (call.clock.monotonicMs() >= until) throw stillUnderWay(asked.machine)
    await call.clock.sleep(lookMs, call.signal)
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
