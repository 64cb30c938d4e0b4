import { systemClock } from '../../../clock.ts'
import {
  at,
  child,
  meaningOf,
  numberOf,
  type Ref,
  refOf,
  refsIn,
  textOf,
  type XmlNode,
} from '../../../xml/xml-node.ts'
import { type Call, withinCall } from '../../ports/call.ts'
import { PlatformError } from '../../ports/platform-error.ts'
import type { Found, TaskHandle, TaskState, TaskStatus, TaskTrace, TaskVerb } from '../../ports/task.ts'
import { hostOf, readWhole, retold } from './machines-reading.ts'
import { retrieveSome } from './property-read.ts'
import type { Session } from './session.ts'
import { faultError, localizedFault } from './soap-fault.ts'
import type { SoapRequest } from './soap-request.ts'

/** The first looks come soon, since most tasks take less than a second; the later ones cost the server little. */
const firstPauseMs = 50
const longestPauseMs = 2_000
/** So many looks in a row may fail: the task goes on, whether or not we see it. */
const toleratedFailures = 4

/** Calls a method whose name ends with `_Task` and gives its task. */
export const startTask = async (session: Session, call: Call, request: SoapRequest): Promise<TaskHandle> => {
  const answer = await session.call(call, request)
  const task = refOf(child(answer, 'returnval'))
  if (task) return taskHandle(session, task)
  throw new PlatformError({
    code: 'platform-answer-invalid',
    failure: 'unknown',
    message: `${hostOf(session)} answered ${request.method} without a task.`,
    remedy: 'Look at the recent tasks in vSphere; what was asked for may be under way.',
  })
}

export const taskHandle = (session: Session, task: Ref): TaskHandle => {
  const status = async (call: Call): Promise<TaskStatus> => {
    const read = await readWhole(session, call, task, ['info'])
    const info = read.found ? read.value.properties.get('info') : undefined
    if (!info) throw taskGone(session, task)
    return readStatus(session, task.value, info)
  }
  return { id: task.value, status, wait: (call, onProgress) => waitFor(call, status, onProgress) }
}

/** vSphere keeps a task for about ten minutes and none over a restart. That says nothing about its effect. */
const taskGone = (session: Session, task: Ref): PlatformError =>
  new PlatformError({
    code: 'platform-fault',
    failure: 'unknown',
    message: `${hostOf(session)} does not know task ${task.value} any more.`,
    remedy: 'Nothing to do: what it was to do is looked at in the inventory.',
    detail: { task: task.value },
  })

const states: Readonly<Record<string, TaskState>> = {
  queued: 'queued',
  running: 'running',
  success: 'succeeded',
  error: 'failed',
}

const readStatus = (session: Session, id: string, info: XmlNode): TaskStatus => {
  const state = meaningOf(states, textOf(info, 'state'))
  if (!state)
    throw new PlatformError({
      code: 'platform-answer-invalid',
      failure: 'unknown',
      message: `${hostOf(session)} does not say how far task ${id} is.`,
      remedy: 'It is tried again. When it stays so, look at the recent tasks in vSphere.',
    })
  const percent = child(info, 'progress') ? numberOf(info, 'progress') : null
  return {
    id,
    state,
    percent: state === 'succeeded' ? 100 : percent,
    result: state === 'succeeded' ? resultOf(info) : null,
    error: state === 'failed' ? taskError(session, info) : null,
  }
}

/** Only references are results that go on: a machine, a snapshot. */
const resultOf = (info: XmlNode): string | null => {
  const result = child(info, 'result')
  return result?.xsiType === 'ManagedObjectReference' && result.text !== '' ? result.text : null
}

const taskError = (session: Session, info: XmlNode): PlatformError => {
  const method = textOf(info, 'descriptionId')
  const error = child(info, 'error')
  const fault = error ? localizedFault(error) : { type: '', message: '' }
  const isNameClash =
    fault.type === 'InvalidArgument' &&
    /\.rename$/i.test(method) &&
    textOf(at(error, 'fault'), 'invalidProperty') === 'name'
  // The simulator words a taken name so.
  return faultError(isNameClash ? { ...fault, type: 'DuplicateName' } : fault, {
    host: hostOf(session),
    method,
  })
}

const waitFor = (
  call: Call,
  status: (call: Call) => Promise<TaskStatus>,
  onProgress: ((percent: number) => void) | undefined,
): Promise<string | null> =>
  withinCall(call, async (signal) => {
    let pauseMs = firstPauseMs
    let best = -1
    let failures = 0
    for (;;) {
      const seen = await look(status, { ...call, signal })
      if (seen instanceof PlatformError) {
        failures += 1
        if (failures > toleratedFailures) throw asUnknown(seen)
      } else {
        failures = 0
        if (seen.state === 'succeeded') return seen.result
        if (seen.state === 'failed') throw seen.error as PlatformError
        if (seen.percent !== null && seen.percent > best) {
          best = seen.percent
          onProgress?.(best)
        }
      }
      await systemClock.sleep(pauseMs, signal)
      signal.throwIfAborted()
      pauseMs = Math.min(longestPauseMs, pauseMs * 1.6)
    }
  })

/** What is seen of the task, or why it could not be seen this time. */
const look = async (
  status: (call: Call) => Promise<TaskStatus>,
  call: Call,
): Promise<TaskStatus | PlatformError> => {
  try {
    return await status(call)
  } catch (error) {
    call.signal.throwIfAborted()
    if (!(error instanceof PlatformError)) throw error
    if (error.class === 'environment') return error
    throw asUnknown(error)
  }
}

/** A look that failed says nothing about the task: it goes on, whatever a "refused" of the look may sound like. */
const asUnknown = (error: PlatformError): PlatformError =>
  error.failure === 'unknown' ? error : retold(error, { failure: 'unknown' })

const madePrefix = 'made:'

/** For what was done without a task, or is found done already: the handle of something that succeeded. */
export const madeHandle = (ref: string): TaskHandle => {
  const status: TaskStatus = {
    id: `${madePrefix}${ref}`,
    state: 'succeeded',
    percent: 100,
    result: ref,
    error: null,
  }
  return { id: status.id, status: async () => status, wait: async () => ref }
}

export interface TaskSearch {
  /** What the port's tasks are called (`VirtualMachine.powerOn`), and what each does. */
  readonly kinds: Readonly<Record<string, TaskVerb>>
  /** What an earlier call of that name made, where such a thing carries the name. */
  readonly madeBy?: (name: string, machine: string | undefined) => Promise<string | undefined>
}

/**
 * By its id as long as vSphere keeps it (minutes); by name, what carries the name: a machine or a snapshot that
 * was made. A task that makes nothing carries no name of ours: for those, one that runs on the machine now is
 * found, if it does what was asked for; one that has ended is not, and the machine itself has to be looked at.
 */
export const findTask = async (
  session: Session,
  call: Call,
  trace: TaskTrace,
  search: TaskSearch,
): Promise<Found<TaskHandle>> => {
  const { taskId, name, machine, verb } = trace
  if (taskId?.startsWith(madePrefix))
    return { found: true, value: madeHandle(taskId.slice(madePrefix.length)) }
  if (taskId !== undefined) {
    const task: Ref = { type: 'Task', value: taskId }
    const read = await readWhole(session, call, task, ['info'])
    if (read.found) return { found: true, value: taskHandle(session, task) }
  }
  const made = name === undefined ? undefined : await search.madeBy?.(name, machine)
  if (made !== undefined) return { found: true, value: madeHandle(made) }
  return machine === undefined ? { found: false } : runningOn(session, call, machine, isOf(search, verb))
}

const isOf =
  ({ kinds }: TaskSearch, verb: TaskVerb | undefined) =>
  (called: string): boolean =>
    Object.hasOwn(kinds, called) && (verb === undefined || kinds[called] === verb)

/** Two at once cannot be told apart: then none is found. */
const runningOn = async (
  session: Session,
  call: Call,
  machine: string,
  isOurs: (called: string) => boolean,
): Promise<Found<TaskHandle>> => {
  const manager = await session.manager(call, 'taskManager')
  const recent = await readWhole(session, call, manager, ['recentTask'])
  const refs = recent.found ? refsIn(recent.value.properties.get('recentTask')) : []
  const tasks = await retrieveSome(session, call, refs, { type: 'Task', paths: ['info'] })
  const running = tasks.filter((task) => {
    const info = task.properties.get('info')
    const isRunning = ['queued', 'running'].includes(textOf(info, 'state'))
    return isRunning && textOf(info, 'entity') === machine && isOurs(textOf(info, 'descriptionId'))
  })
  const [only, another] = running
  return only && !another
    ? { found: true, value: { ...taskHandle(session, only.ref), byMachine: true } }
    : { found: false }
}
