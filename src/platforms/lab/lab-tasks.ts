import { systemClock } from '../../clock.ts'
import { type Call, withinCall } from '../ports/call.ts'
import { PlatformError } from '../ports/platform-error.ts'
import type { Found, TaskHandle, TaskStatus, TaskTrace } from '../ports/task.ts'
import { asPlatformError, labAnswerInvalid } from './lab-answer.ts'
import type { LabLink, LabRequest } from './lab-link.ts'
import { headerText, labPath } from './lab-path.ts'
import { task, tasksAnswer, type WireTask } from './protocol.ts'

const firstPauseMs = 25
const longestPauseMs = 1_000
const pollMs = 15_000
/** So many looks may fail in a row: the task goes on, whether or not we see it. */
const toleratedFailures = 4

/** Starts a task by a request that carries the call's name. */
export const startLabTask = async (
  link: LabLink,
  call: Call,
  request: Omit<LabRequest, 'named'>,
): Promise<TaskHandle> => labTask(link, (await link.ask(call, { ...request, named: true }, task)).id)

/** By its id; else by its name; else the newest one of the machine, which is ours only if its name is. */
export const findLabTask = (link: LabLink, call: Call, trace: TaskTrace): Promise<Found<TaskHandle>> =>
  withinCall(call, async (signal) => {
    const id = await findTaskId(link, { ...call, signal }, trace)
    return id === undefined ? { found: false } : { found: true, value: labTask(link, id) }
  })

export const findTaskId = async (
  link: LabLink,
  call: Call,
  trace: TaskTrace,
): Promise<string | undefined> => {
  if (trace.taskId !== undefined && trace.taskId !== '') {
    const known = await link.find(call, { method: 'GET', path: labPath`/tasks/${trace.taskId}` }, task)
    if (known.found) return sameTask(known.value, trace.taskId).id
  }
  const name = trace.name === undefined ? undefined : headerText(trace.name)
  for (const query of [{ name }, { machine: trace.machine }]) {
    if (Object.values(query)[0] === undefined) continue
    const { tasks } = await link.ask(call, { method: 'GET', path: '/tasks', query }, tasksAnswer)
    // It may list anything: only what is said to be ours, or to be on that machine, is looked at.
    const newest = tasks.find(
      (one) =>
        (name === undefined || one.name === name) &&
        (query.machine === undefined || one.machine === query.machine),
    )
    if (newest) return newest.id
  }
  return undefined
}

/** The task of that id as it is now. */
export const readTask = async (link: LabLink, call: Call, id: string): Promise<WireTask> =>
  sameTask(await link.ask(call, { method: 'GET', path: labPath`/tasks/${id}` }, task), id)

/** How another task ended says nothing of ours. */
const sameTask = (seen: WireTask, id: string): WireTask => {
  if (seen.id === id) return seen
  throw labAnswerInvalid(`task ${seen.id} where ${id} was asked for`)
}

export const labTask = (link: LabLink, id: string): TaskHandle => {
  const status = async (call: Call): Promise<TaskStatus> => asStatus(await readTask(link, call, id))
  return {
    id,
    status,
    wait: (call, onProgress) =>
      withinCall(call, (signal) => waitFor({ id, status, call: { ...call, signal }, onProgress })),
  }
}

const waitFor = async (options: {
  id: string
  status: TaskHandle['status']
  call: Call
  onProgress: ((percent: number) => void) | undefined
}): Promise<string | null> => {
  const { call, onProgress } = options
  let best = -1
  let failures = 0
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(longestPauseMs, pauseMs * 1.5)) {
    const seen = await look(options.status, call)
    if (seen instanceof PlatformError) {
      failures += 1
      if (failures > toleratedFailures) throw seen
    } else {
      failures = 0
      if (seen.percent !== null && seen.percent > best) {
        best = seen.percent
        onProgress?.(best)
      }
      if (seen.state === 'succeeded') return seen.result
      if (seen.state === 'failed') throw seen.error ?? failedWithoutReason(options.id)
    }
    await systemClock.sleep(pauseMs, call.signal)
    call.signal.throwIfAborted()
  }
}

/** What is seen of the task, or why it could not be seen this time. */
const look = async (status: TaskHandle['status'], call: Call): Promise<TaskStatus | PlatformError> => {
  try {
    return await status({ ...call, timeoutMs: Math.min(pollMs, call.timeoutMs) })
  } catch (error) {
    call.signal.throwIfAborted()
    if (error instanceof PlatformError && (error.class === 'environment' || error.class === 'transient'))
      return error
    throw error
  }
}

export const asStatus = (seen: WireTask): TaskStatus => ({
  id: seen.id,
  state: seen.state,
  percent: seen.percent,
  result: seen.result,
  error: seen.error === null ? null : asPlatformError(seen.error),
})

const failedWithoutReason = (id: string): PlatformError =>
  new PlatformError({
    code: 'platform-fault',
    failure: 'unknown',
    message: `Task ${id} of the lab failed and does not say why.`,
    remedy: 'Look at what it worked on before it is tried again.',
  })
