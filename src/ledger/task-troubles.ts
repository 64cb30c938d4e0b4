import { DroverError } from '../errors.ts'
import { PlatformError } from '../platforms/ports/platform-error.ts'
import type { TaskHandle } from '../platforms/ports/task.ts'

/** What is reported about a task that is not simply done, for jobs of every subject. */
interface Asked {
  readonly part: string
  /** The name of the source or target. */
  readonly platform: string
  readonly machine?: string
}

const whereOf = ({ platform, machine }: Asked): string =>
  machine === undefined ? platform : `${machine} of ${platform}`

export const anothers = (task: Asked, handle: TaskHandle | undefined): PlatformError =>
  new PlatformError({
    code: 'platform-busy',
    // It may be ours, from a call whose answer was lost.
    failure: 'unknown',
    message: `Task ${handle?.id ?? ''} is at work on ${whereOf(task)}, and whose it is cannot be told.`,
    remedy: 'It is waited for. See the tasks of the platform.',
    detail: { task: handle?.id ?? null },
  })

export const forgotten = (task: Asked): DroverError =>
  new DroverError({
    code: 'outcome-unknown',
    class: 'conflict',
    message: `${task.platform} has taken "${task.part}" on${task.machine === undefined ? '' : ` for ${task.machine}`} and does not know its task any more: whether it was done cannot be told.`,
    remedy: 'Look at the machine there. Ask again when it is not as you want it.',
  })

export const takesLong = (task: Asked): DroverError =>
  new DroverError({
    code: 'task-under-way',
    class: 'environment',
    message: `The platform is still at work on "${task.part}" at ${whereOf(task)}.`,
    remedy: 'Nothing to do: it is looked at again. When it stays so, look at the tasks of the platform.',
  })

/** A task that fails this often will not succeed by itself. */
export const failsAlways = (error: Error, failures: number): DroverError =>
  new DroverError(
    {
      code: 'failed',
      class: 'permanent',
      message: `The platform has taken it on and failed at it ${failures} times. ${error.message}`,
      remedy: 'See the error, mend its cause, ask again.',
    },
    { cause: error },
  )
