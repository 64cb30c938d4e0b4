import type { MoveSeen } from '../../domain/operation/move/move-seen.ts'
import type { Call } from './call.ts'
import type { Found, TaskHandle, TaskStatus, TasksOf, TaskTrace } from './task.ts'

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

export interface MoveStatus extends TaskStatus {
  readonly move: MoveSeen
}

/** A live move. One that was aborted ends as failed with `platform-aborted`. */
export type MoveHandle = TaskHandle<MoveStatus>

export interface MoveTo {
  /** By ref. */
  readonly host: string
  /** The guest may be slowed down so far that the copy gets done. */
  readonly force: boolean
}

/**
 * What came of asking for the end of a move. `asked`: it stops, and its task ends soon. `too-late`: the guest is
 * switched over, the task ends as if nobody had asked. `ended`: it had. `absent`: there is no such task.
 */
export type MoveAbort = 'asked' | 'too-late' | 'ended' | 'absent'

export interface LiveMovePort extends TasksOf<MoveStatus> {
  /**
   * Whether the platform would begin that move now: nothing is done. Throws what `move` would throw:
   * `platform-no-capacity` for a host without room, `platform-refused` for one that does not suit the machine,
   * `platform-wrong-state` for a machine that does not run or is there already, `platform-busy` while something else
   * is at work on it, `platform-absent` for either.
   */
  checkMove(call: Call, machine: string, to: MoveTo): Promise<void>
  /** Starts it; refuses as `checkMove`. */
  move(call: Call, machine: string, to: MoveTo): Promise<MoveHandle>
  abort(call: Call, trace: TaskTrace): Promise<MoveAbort>
}
