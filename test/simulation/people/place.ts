import type { MachineChange, NewMachine } from '../../../src/platforms/ports/machines.ts'
import type { PlatformError } from '../../../src/platforms/ports/platform-error.ts'
import type { TaskTrace } from '../../../src/platforms/ports/task.ts'
import { problem } from '../operation/cloud-things.ts'
import type { Estate, EstateMachine } from './estate.ts'

/**
 * `hangs`: whoever asks waits, for as long as it does. `refuses`: it is looked at, and starts nothing. `locks-out`: it
 * answers, and lets nobody in.
 */
export type Mode = 'well' | 'away' | 'hangs' | 'refuses' | 'locks-out'
/** What goes wrong with the next call that changes something. */
export type Slip = 'answer-lost' | 'fault-after-done' | 'takes-long'

export interface PlaceTask {
  readonly id: string
  readonly name: string
  readonly ref: string
  readonly verb: string
  state: 'running' | 'succeeded' | 'failed'
  error: PlatformError | null
  result: string | null
  readonly carryOut: (task: PlaceTask) => string | null
  readonly slip: Slip | null
}

export type Work = Pick<PlaceTask, 'name' | 'ref' | 'verb' | 'carryOut'>

/** One platform: what it is asked for is accepted first and comes about later. It does not remember names. */
export class Place {
  readonly name: string
  readonly estate: Estate
  mode: Mode = 'well'
  slip: Slip | null = null
  readonly tasks: PlaceTask[] = []

  constructor(name: string, estate: Estate) {
    this.name = name
    this.estate = estate
  }

  /** As it is now, over a copy of what there is outside; nothing is under way. */
  copy(estate: Estate): Place {
    const copy = new Place(this.name, estate)
    copy.tasks.push(...this.tasks.map((task) => ({ ...task, carryOut: () => null })))
    return copy
  }

  /** Throws when it would not be begun now. */
  begin(work: Work): PlaceTask {
    if (this.running(work.ref)) throw problem('platform-busy', 'refused')
    const task: PlaceTask = {
      ...work,
      id: this.estate.next(`task-${this.name}`),
      ...{ state: 'running', error: null, result: null, slip: this.slip },
    }
    if (this.slip !== 'answer-lost') this.slip = null
    this.tasks.push(task)
    return task
  }

  running(ref: string): PlaceTask | undefined {
    return this.tasks.find((task) => task.ref === ref && task.state === 'running')
  }

  find({ taskId, name }: TaskTrace): PlaceTask | undefined {
    return this.tasks.findLast((task) => (taskId ? task.id === taskId : task.name === name))
  }

  /** What was accepted comes to its end. */
  advance(task: PlaceTask): void {
    if (task.state !== 'running') return
    try {
      task.result = task.carryOut(task)
      const faulty = task.slip === 'fault-after-done'
      task.state = faulty ? 'failed' : 'succeeded'
      task.error = faulty ? problem('platform-fault', 'unknown') : null
    } catch (error) {
      task.state = 'failed'
      task.error = error as PlatformError
    }
  }

  /** All that was begun comes about, and what guests were asked for. */
  comeAbout(): void {
    for (const task of this.tasks) this.advance(task)
    for (const machine of this.estate.at(this.name))
      if (machine.goesDown === machine.boot && machine.power === 'on' && machine.guest === 'obeys')
        this.estate.switchOff(machine, machine.shutBy)
  }

  start(name: string, ref: string): PlaceTask {
    const machine = this.estate.machine(this.name, ref)
    if (machine.power === 'on') throw problem('platform-wrong-state', 'refused')
    if (this.mode === 'refuses') throw problem('platform-refused', 'refused')
    return this.begin({ ...{ name, ref, verb: 'start' }, carryOut: () => this.#switch(machine, 'on', name) })
  }

  stop(name: string, ref: string): PlaceTask {
    const machine = this.#running(ref)
    return this.begin({ ...{ name, ref, verb: 'stop' }, carryOut: () => this.#switch(machine, 'off', name) })
  }

  restart(name: string, ref: string): PlaceTask {
    const machine = this.#running(ref)
    const carryOut = () => {
      if (machine.power === 'off') throw problem('platform-wrong-state', 'refused')
      machine.boot = this.estate.next('boot')
      return null
    }
    return this.begin({ ...{ name, ref, verb: 'restart' }, carryOut })
  }

  shutdown(name: string, ref: string): PlaceTask {
    const machine = this.#running(ref)
    const carryOut = () => {
      machine.goesDown = machine.boot
      machine.shutBy = name
      return null
    }
    return this.begin({ ...{ name, ref, verb: 'shutdown' }, carryOut })
  }

  create(name: string, made: NewMachine): PlaceTask {
    const taken = this.estate.at(this.name).some((one) => one.name === made.machineName)
    if (taken) throw problem('platform-name-taken', 'refused')
    const ref = this.estate.next('copy')
    return this.begin({ ...{ name, ref, verb: 'create' }, carryOut: () => this.#make(ref, made) })
  }

  destroy(name: string, ref: string): PlaceTask {
    const machine = this.estate.machine(this.name, ref)
    if (machine.power === 'on') throw problem('platform-wrong-state', 'refused')
    const carryOut = () => {
      if (machine.power === 'on') throw problem('platform-wrong-state', 'refused')
      this.estate.remove(machine)
      return null
    }
    return this.begin({ ...{ name, ref, verb: 'destroy' }, carryOut })
  }

  /** The machine as a change of its settings leaves it. */
  reconfigure(name: string, ref: string, change: MachineChange): PlaceTask {
    const machine = this.estate.machine(this.name, ref)
    const { uuid, cpus, memory, description, attributes, nics } = change
    const given = { uuid, cpus, memory, description, attributes, nics }
    const carryOut = () => {
      Object.assign(
        machine,
        Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
      )
      return null
    }
    return this.begin({ ...{ name, ref, verb: 'reconfigure' }, carryOut })
  }

  snapshot(name: string, ref: string, called: string): PlaceTask {
    const machine = this.estate.machine(this.name, ref)
    const carryOut = () => {
      const made = this.estate.next('snapshot')
      const disks = new Map([...machine.disks].map(([key, disk]) => [key, { ...disk }]))
      machine.snapshots.set(made, { name: called, disks })
      return made
    }
    return this.begin({ ...{ name, ref, verb: 'snapshot' }, carryOut })
  }

  dropSnapshot(name: string, ref: string, snapshot: string): PlaceTask {
    const machine = this.estate.machine(this.name, ref)
    if (!machine.snapshots.has(snapshot)) throw problem('platform-absent', 'absent')
    const carryOut = () => {
      machine.snapshots.delete(snapshot)
      return null
    }
    return this.begin({ ...{ name, ref, verb: 'remove-snapshot' }, carryOut })
  }

  #running(ref: string): EstateMachine {
    const machine = this.estate.machine(this.name, ref)
    if (machine.power === 'off') throw problem('platform-wrong-state', 'refused')
    return machine
  }

  #switch(machine: EstateMachine, to: 'on' | 'off', by: string): null {
    if (!this.estate.find(this.name, machine.ref)) throw problem('platform-absent', 'absent')
    if (machine.power !== to)
      if (to === 'on') this.estate.switchOn(machine, by)
      else this.estate.switchOff(machine, by)
    return null
  }

  #make(ref: string, { machineName, uuid, cpus, memory, owner, nics, disks }: NewMachine): string {
    this.estate.add({
      ...{
        place: this.name,
        ref,
        name: machineName,
        uuid,
        cpus,
        memory,
        owner,
        power: 'off',
        guest: 'obeys',
        tracked: true,
      },
      ...{ boot: '', goesDown: null, shutBy: '', description: '', attributes: {} },
      nics: nics.map(({ mac, network }) => ({ mac, network })),
      disks: new Map(disks.map(({ key, capacity }) => [key, { bytes: Buffer.alloc(capacity), version: 0 }])),
      snapshots: new Map(),
      copied: null,
    })
    return ref
  }
}
