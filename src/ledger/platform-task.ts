import { nextTaskStep, type TaskSeen, type TaskStep, taskName } from '../domain/job/task-step.ts'
import { again } from '../platforms/ports/bounded-wait.ts'
import type { Call } from '../platforms/ports/call.ts'
import { mayHaveHappened, PlatformError } from '../platforms/ports/platform-error.ts'
import type { Found, TaskHandle, TaskStatus, TasksOf, TaskVerb } from '../platforms/ports/task.ts'
import { callBy, type JobCall, type JobContext } from './job.ts'
import { findOlderBegun } from './older-tasks.ts'
import { inCheckpoint, type TaskProgress, type TaskRecord } from './task-record.ts'
import { anothers, failsAlways, forgotten, takesLong } from './task-troubles.ts'

/**
 * One durable task: work that a platform does by itself after a request. It is requested once over all turns of a job,
 * found again after a crash, followed to its end, and told from other clients' tasks.
 *
 * A subject is written as a list of such tasks. Each says what `begin` asks of the platform, how `made` tells from the
 * result itself that it is done (platforms forget their tasks), and under which effect kind it is undone. A turn of the
 * job is then:
 *
 *     const imported = await runTask(ctx, { part: 'import', ... })
 *     if (imported.type !== 'ended') return waitFor(...)
 *     const renamed = await runTask(ctx, { part: 'rename', ... })
 *
 * Each turn runs the list from the top: an ended task is read from the checkpoint and costs no call. A decision between
 * two tasks goes into the checkpoint before the next one begins. The undoer of the effect kind first calls
 * `resultOfTask` (ended-task.ts), which waits until our task has ended.
 *
 * The table in src/domain/job/task-step.ts decides the next step; this file looks, acts and records.
 */
export interface PlatformTask<Status extends TaskStatus = TaskStatus> {
  /** Tells it from the other tasks of the job; part of its name. */
  readonly part: string
  /** Names the undoer. */
  readonly kind: string
  /** The data of the undoer; null: nothing is left to undo. */
  readonly undo: Readonly<Record<string, unknown>> | null
  /** The name of the source or target. */
  readonly platform: string
  readonly tasks: TasksOf<Status>
  /** The machine that it works on; not given when the task makes the machine. */
  readonly machine?: string
  readonly verb?: TaskVerb
  /** Asks the platform, with the lease held. Undefined: nothing was requested, because the machine has changed. */
  readonly begin: (call: JobCall) => Promise<TaskHandle | undefined>
  /** Whether the task is done, and its result, as the thing itself shows. A failed look throws. */
  readonly made: (call: JobCall) => Promise<Found<string | null>>
  /** Whether an unanswered call is repeated in the same turn: the platform recognises it by its name. */
  readonly sentAgain?: boolean
  /** `never`: a repetition would undo later changes. Not given: `anew`. */
  readonly repeat?: TaskSeen['repeat']
  /** The most tasks that may fail. Not given: as many as the job has tries. */
  readonly most?: number
  /** How long one turn waits for it; 0: it only looks. */
  readonly turnMs?: number
  /** Where it is recorded; not given: in the checkpoint, under its part. */
  readonly record?: TaskRecord
  /** What the job must know once the platform may have been asked: committed with the intent. */
  readonly checkpoint?: Record<string, unknown>
  /** How older versions named its effect; see older-tasks.ts. */
  readonly older?: string
  /** Called with the error of a failed task before it is counted: throws what no retry can mend. */
  readonly onFailure?: (error: Error) => void
  /** Called whenever it is certain that the task has changed nothing so far. */
  readonly onNothing?: () => Promise<void>
}

export type TaskEnd<Status extends TaskStatus = TaskStatus> =
  /** `byWord`: the requested task itself says so; otherwise its result shows it. */
  | { readonly type: 'ended'; readonly result: string | null; readonly byWord: boolean }
  | { readonly type: 'working'; readonly status: Status | null }
  /** It failed, and is counted. */
  | { readonly type: 'failed'; readonly error: Error }
  /** The platform no longer knows it and it had no result: it is requested again. */
  | { readonly type: 'lost' }
  /** The same for a task that is never repeated. */
  | { readonly type: 'unknown'; readonly taskId: string | null }

/** What a task needs of its job. */
export type TaskContext = Pick<
  JobContext,
  'job' | 'db' | 'clock' | 'signal' | 'confirm' | 'effect' | 'checkpoint' | 'checkpointed'
>

const callMs = 30_000
/** A turn is not spent on watching. */
const shortTurnMs = 2_500
/** More than a job has tries. */
const mostTasks = 1_000

/**
 * Runs a task once over all turns, as far as one turn can: asks, records, waits a little. Safe to continue after a
 * crash between any two lines. A failed task is counted, and the next turn begins it under the next name.
 */
export const runTask = async <Status extends TaskStatus>(
  ctx: TaskContext,
  task: PlatformTask<Status>,
): Promise<TaskEnd<Status>> => {
  const record = task.record ?? inCheckpoint(ctx, task.part)
  const progress = record.read()
  if (progress.ended) return { type: 'ended', result: progress.result, byWord: false }
  const name = taskName(ctx.job.id, task.part, progress.failed)
  const older = progress.failed === 0 ? await findOlderBegun(ctx, task) : undefined
  const at: At<Status> = older
    ? { ctx, task, record, ...older, progress: { ...progress, failed: older.failed } }
    : { ctx, task, record, progress, name, effect: name }
  const taskId = await ask(at)
  return follow(at, taskId)
}

/**
 * Runs a task to its end, for short tasks and those that must not be left half done: `turnMs` is how long it may take.
 * Returns its result.
 */
export const finishTask = async (
  ctx: TaskContext,
  task: PlatformTask & { readonly turnMs: number },
): Promise<string | null> => {
  for (;;) {
    const end = await runTask(ctx, task)
    if (end.type === 'ended') return end.result
    if (end.type === 'working') throw takesLong(task)
    if (end.type === 'failed') throw end.error
    if (end.type === 'unknown') throw forgotten(task)
    ctx.signal.throwIfAborted()
  }
}

interface At<Status extends TaskStatus = TaskStatus> {
  readonly ctx: TaskContext
  readonly task: PlatformTask<Status>
  readonly record: TaskRecord
  readonly progress: TaskProgress
  /** The name of the call, by which the platform knows its task. */
  readonly name: string
  readonly effect: string
}

const callOf = ({ ctx, name }: Pick<At<TaskStatus>, 'ctx' | 'name'>): JobCall => callBy(ctx, name, callMs)

const ask = async <Status extends TaskStatus>(at: At<Status>): Promise<string | null> => {
  const { ctx, task, effect } = at
  let refused = false
  try {
    const { externalId } = await ctx.effect({
      kind: task.kind,
      platform: task.platform,
      name: effect,
      undo: task.undo && { ...task.undo },
      ...(task.checkpoint ? { checkpoint: task.checkpoint } : {}),
      observe: async () => {
        const { step, handle } = await decide(at, 'intended', null)
        if (step === 'begin') return { found: false }
        if (step === 'adopt') return { found: true, ...(handle ? { externalId: handle.id } : {}) }
        throw anothers(task, handle)
      },
      act: async () => {
        try {
          const handle = await send(at)
          return handle && { externalId: handle.id }
        } catch (error) {
          refused = !mayHaveHappened(error)
          throw error
        }
      },
    })
    return externalId
  } catch (error) {
    if (refused) await task.onNothing?.()
    throw error
  }
}

/**
 * Only the holder of the lease sends it, each time: another holder may have undone what it made. A refusal after a
 * lost answer says nothing about the lost call.
 */
const send = async <Status extends TaskStatus>(at: At<Status>): Promise<TaskHandle | undefined> => {
  const { ctx, task } = at
  // Once sent, its answer is awaited even after a cancel: otherwise nobody knows what is about to happen.
  const call = { ...callOf(at), signal: new AbortController().signal }
  let lost: unknown
  const once = () =>
    task.begin(call).catch((error: unknown) => {
      if (mayHaveHappened(error)) lost = error
      throw error
    })
  ctx.confirm()
  if (!task.sentAgain) return once()
  return again(ctx, once, { of: task.platform }).catch((error: unknown) => {
    throw mayHaveHappened(error) ? error : (lost ?? error)
  })
}

const follow = async <Status extends TaskStatus>(
  at: At<Status>,
  taskId: string | null,
): Promise<TaskEnd<Status>> => {
  const { task, record, progress } = at
  const { step, handle, status, working, result } = await decide(at, 'asked', taskId)
  if (step === 'ended') {
    const made = result === undefined ? (status?.result ?? null) : result
    await record.write({ ...progress, ended: true, result: made })
    return { type: 'ended', result: made, byWord: result === undefined && handle?.id === taskId }
  }
  if (step === 'follow') return { type: 'working', status: working ?? null }
  if (step === 'outcome-unknown') return { type: 'unknown', taskId }
  const error = status && (status.error ?? new Error(`Task ${status.id} failed and does not say why.`))
  if (error) task.onFailure?.(error)
  await record.write({ ...progress, failed: progress.failed + 1 })
  await task.onNothing?.()
  if (step === 'give-up') throw failsAlways(error ?? forgotten(task), progress.failed + 1)
  if (error) return { type: 'failed', error }
  return { type: 'lost' }
}

interface Decided<Status extends TaskStatus> {
  readonly step: TaskStep
  /** The platform's task, ours or not; its status only if it is ours. */
  readonly handle?: TaskHandle
  readonly status?: TaskStatus
  /** The same while it runs. */
  readonly working?: Status
  /** The existing result, when that decided. */
  readonly result?: string | null
}

/** Looks for what the table asks for, and no further. */
const decide = async <Status extends TaskStatus>(
  at: At<Status>,
  recorded: TaskSeen['recorded'],
  taskId: string | null,
): Promise<Decided<Status>> => {
  const { task, progress } = at
  const { repeat = 'anew', most = mostTasks } = task
  let seen: TaskSeen = {
    ...{ recorded, task: 'unseen', whose: 'ours', made: 'unseen' },
    ...{ repeat, most, failed: progress.failed },
  }
  let found: Omit<Decided<Status>, 'step'> = {}
  for (;;) {
    const step = nextTaskStep(seen)
    if (step === 'look-at-task') {
      const sight = await lookAtTask(at, recorded, taskId)
      seen = { ...seen, task: sight.task, whose: sight.handle?.byMachine ? 'untold' : 'ours' }
      found = sight
    } else if (step === 'look-at-result') {
      const made = await task.made(callOf(at))
      seen = { ...seen, made: made.found ? 'there' : 'absent' }
      if (made.found) found = { result: made.value }
    } else return { step, ...found }
  }
}

type Sight<Status extends TaskStatus> = Pick<Decided<Status>, 'handle' | 'status' | 'working'> & {
  readonly task: TaskSeen['task']
}

const lookAtTask = async <Status extends TaskStatus>(
  at: At<Status>,
  recorded: TaskSeen['recorded'],
  taskId: string | null,
): Promise<Sight<Status>> => {
  const { task, name } = at
  const call = callOf(at)
  const { machine, verb, turnMs = shortTurnMs } = task
  const trace = { name, verb, ...(machine === undefined ? {} : { machine }) }
  const found = await task.tasks.findTask(call, taskId === null ? trace : { ...trace, taskId })
  if (!found.found) return { task: 'absent' }
  const handle = found.value
  if (recorded === 'asked' && !handle.byMachine && turnMs > 0) {
    const result = await awaitTask(handle, { ...call, timeoutMs: turnMs })
    if (result !== undefined)
      return { task: 'succeeded', handle, status: { ...doneStatus, id: handle.id, result } }
  }
  const status = await handle.status(call)
  const isWorking = status.state === 'queued' || status.state === 'running'
  return {
    task: isWorking ? 'working' : (status.state as 'succeeded' | 'failed'),
    handle,
    ...(handle.byMachine ? {} : { status, ...(isWorking ? { working: status } : {}) }),
  }
}

const doneStatus = { state: 'succeeded', percent: 100, error: null } as const

/** The result; undefined: the wait ended, which says nothing about the task itself. */
const awaitTask = async (handle: TaskHandle, call: Call): Promise<string | null | undefined> => {
  try {
    return await handle.wait(call)
  } catch (error) {
    call.signal.throwIfAborted()
    if (!(error instanceof PlatformError)) throw error
    return undefined
  }
}
