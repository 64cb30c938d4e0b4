import type { Call } from './call.ts'
import type { PlatformError } from './platform-error.ts'

/** A look-up's answer. A look-up that failed throws: unknown is not absent. */
export type Found<Value> = { readonly found: true; readonly value: Value } | { readonly found: false }

/** What a task does, where platforms tell tasks apart by that only. */
export type TaskVerb =
  | 'start'
  | 'stop'
  | 'restart'
  | 'suspend'
  | 'shutdown'
  | 'save'
  | 'wake'
  | 'snapshot'
  | 'revert'
  | 'remove-snapshot'
  | 'clone'
  | 'reconfigure'
  | 'rename'
  | 'destroy'

/** How a task that may have been started before a crash is found again; what is given is tried in this order. */
export interface TaskTrace {
  /** What `start…` answered, when it was recorded in time. */
  readonly taskId?: string
  /** The idempotency name of the call. */
  readonly name?: string
  /** The machine it works on, for platforms that list tasks by machine only. */
  readonly machine?: string
  /** What it was asked for: another's task on that machine that does something else is not taken for it. */
  readonly verb?: TaskVerb | undefined
}

export type TaskState = 'queued' | 'running' | 'succeeded' | 'failed'

export interface TaskStatus {
  readonly id: string
  readonly state: TaskState
  /** 0 to 100; null where the platform does not say. */
  readonly percent: number | null
  /** What it made: the ref of a machine, a snapshot. */
  readonly result: string | null
  /** Why it failed. */
  readonly error: PlatformError | null
}

/** Work that a platform does by itself after it was asked. It goes on when we crash. */
export interface TaskHandle<Status extends TaskStatus = TaskStatus> {
  readonly id: string
  /** It is known by the machine it works on alone: it may be anybody's. */
  readonly byMachine?: true
  status(call: Call): Promise<Status>
  /** Resolves with what it made; throws its error. Stops waiting, not the task, when the call ends. */
  wait(call: Call, onProgress?: (percent: number) => void): Promise<string | null>
}

export interface TasksOf<Status extends TaskStatus = TaskStatus> {
  findTask(call: Call, trace: TaskTrace): Promise<Found<TaskHandle<Status>>>
}
