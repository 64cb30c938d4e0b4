import type { PowerState } from '../../domain/inventory/facts.ts'
import type { Call } from './call.ts'
import type { Found, TaskHandle, TasksOf } from './task.ts'

export interface PowerFacts {
  readonly state: PowerState
  readonly host: string
  /** Changes with every start; empty where the platform does not tell. */
  readonly boot_id: string
}

/** Each verb starts a task, or throws: `platform-wrong-state` when the machine is there already, `absent`. */
export interface PowerPort extends TasksOf {
  power(call: Call, machine: string): Promise<Found<PowerFacts>>
  start(call: Call, machine: string): Promise<TaskHandle>
  /** Asks the guest; done when the guest has heard, not when it is off. `platform-refused` without an agent. */
  shutdownGuest(call: Call, machine: string): Promise<TaskHandle>
  /** Pulls the plug. */
  stop(call: Call, machine: string): Promise<TaskHandle>
  restart(call: Call, machine: string): Promise<TaskHandle>
  suspend(call: Call, machine: string): Promise<TaskHandle>
}
