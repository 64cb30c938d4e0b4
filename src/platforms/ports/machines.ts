import type { Call } from './call.ts'
import type { Found, TaskHandle, TasksOf } from './task.ts'

export interface NewNic {
  readonly mac: string
  readonly network: string
  readonly type: 'managed' | 'bridged' | 'physical'
  readonly vlan: string
}

export interface NewDisk {
  readonly key: string
  readonly capacity: number
  /** Storage by ref or name. */
  readonly pool: string
}

export interface NewMachine {
  readonly machineName: string
  readonly project: string
  /** A host by ref; empty: the platform chooses. */
  readonly host: string
  readonly folder: string
  readonly cpus: number
  readonly memory: number
  readonly uuid: string
  readonly legacyBoot: boolean
  readonly secureBoot: boolean
  readonly nics: readonly NewNic[]
  readonly disks: readonly NewDisk[]
  /** Who owns it: `drover` ids by key. Only what carries our tag is ever changed or removed. */
  readonly owner: Readonly<Record<string, string>>
}

export interface MachineChange {
  readonly cpus?: number
  readonly memory?: number
  readonly uuid?: string
  readonly description?: string
  readonly nics?: readonly NewNic[]
  readonly changeTracking?: boolean
  readonly attributes?: Readonly<Record<string, string>>
}

export interface SnapshotRef {
  readonly ref: string
  readonly name: string
  readonly parent: string | null
}

/** Makes, changes and removes machines. Results of tasks are refs. */
export interface MachinesPort extends TasksOf {
  create(call: Call, machine: NewMachine): Promise<TaskHandle>
  /** By the ownership that `create`, `clone` or `tag` gave it. */
  findOwned(call: Call, owner: Readonly<Record<string, string>>): Promise<readonly string[]>
  owner(call: Call, machine: string): Promise<Found<Readonly<Record<string, string>>>>
  tag(call: Call, machine: string, owner: Readonly<Record<string, string>>): Promise<void>
  /** `platform-name-taken` when another has the name in that folder or project. */
  rename(call: Call, machine: string, newName: string): Promise<TaskHandle>
  reconfigure(call: Call, machine: string, change: MachineChange): Promise<TaskHandle>
  clone(
    call: Call,
    machine: string,
    to: {
      readonly machineName: string
      readonly folder: string
      readonly owner: Readonly<Record<string, string>>
    },
  ): Promise<TaskHandle>
  /** Removes the machine with its disks; refused while it runs. */
  destroy(call: Call, machine: string): Promise<TaskHandle>
  snapshots(call: Call, machine: string): Promise<Found<readonly SnapshotRef[]>>
  createSnapshot(
    call: Call,
    machine: string,
    snapshot: { readonly snapshotName: string; readonly memory: boolean; readonly quiesce: boolean },
  ): Promise<TaskHandle>
  revertToSnapshot(call: Call, machine: string, snapshot: string): Promise<TaskHandle>
  removeSnapshot(call: Call, machine: string, snapshot: string): Promise<TaskHandle>
}
