import type { Call } from '../call.ts'
import type { Found, TaskHandle, TasksOf } from './task.ts'

/** The memory of a guest on disk, made by one save. */
export interface SavedState {
  readonly ref: string
  readonly machine: string
  readonly size: number
  /** `sha256:` and hex. */
  readonly digest: string
  readonly complete: boolean
}

export interface HibernatePort extends TasksOf {
  /** Freezes the guest and writes its memory; the machine is off afterwards. The task's result is the state's ref. */
  save(call: Call, machine: string): Promise<TaskHandle>
  saved(call: Call, ref: string): Promise<Found<SavedState>>
  /** Wakes the guest from that state on a host; the machine keeps its ref where the platform allows. */
  restore(call: Call, state: string, to: { readonly host: string }): Promise<TaskHandle>
  dropSaved(call: Call, ref: string): Promise<void>
}

export interface LiveMovePort extends TasksOf {
  move(call: Call, machine: string, to: { readonly host: string }): Promise<TaskHandle>
}
