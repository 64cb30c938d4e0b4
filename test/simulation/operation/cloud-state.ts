import {
  type CloudAsk,
  type CloudMachine,
  type CloudMemory,
  type CloudTask,
  copying,
  powerNeeded,
  problem,
  switching,
} from './cloud-things.ts'

/** One that each machine has from before. */
export const givenSnapshot = 'snapshot-0'

/** What an imagined platform has, and what comes of what it was asked. */
export class CloudState {
  readonly machines = new Map<string, CloudMachine>()
  readonly hosts = new Map(['node-1', 'node-2', 'node-3'].map((ref) => [ref, { full: false, dead: false }]))
  readonly tasks: CloudTask[] = []
  readonly saved = new Map<string, CloudMemory>()
  /** Memory that could have been woken, and what call has made it worthless. */
  readonly lost: { readonly machine: string; readonly state: string; readonly name: string }[] = []
  /** What no platform should ever see. */
  readonly broken: string[] = []
  /** How often a host has died. */
  crashes = 0
  #moment = 0

  put(ref: string, machine: Pick<CloudMachine, 'power' | 'guest' | 'stalls'>): void {
    const host = 'node-1'
    this.machines.set(ref, {
      power: machine.power,
      host,
      runs: new Set(machine.power === 'on' ? [host] : []),
      boot: this.newName('boot'),
      guest: machine.guest,
      goesDown: null,
      full: false,
      stalls: machine.stalls,
      crashed: false,
      disks: 0,
      snapshots: new Map([[givenSnapshot, 'taken']]),
    })
  }

  machine(ref: string): CloudMachine {
    const machine = this.machines.get(ref)
    if (!machine) throw new Error(`There is no machine ${ref}.`)
    return machine
  }

  running(ref: string): CloudTask | undefined {
    return this.tasks.find((task) => task.ref === ref && task.state === 'running')
  }

  /** Whether that memory is all that it takes to have the machine go on where it was. */
  isWorth({ machine, disks }: CloudMemory): boolean {
    const { power, disks: now } = this.machine(machine)
    return power === 'off' && disks === now
  }

  begin(ask: CloudAsk): CloudTask {
    this.admit(ask)
    const task: CloudTask = {
      ...ask,
      id: `task-${this.tasks.length + 1}`,
      begunAt: this.next(),
      endedAt: null,
      state: 'running',
      error: null,
      result: null,
      step: 0,
      aborting: false,
      wentOver: false,
    }
    this.tasks.push(task)
    return task
  }

  /** Throws when it would not be begun now. */
  admit({ ref, kind, host, what }: CloudAsk): void {
    const machine = this.machine(ref)
    if (this.running(ref)) throw problem('platform-busy', 'refused')
    const needed = powerNeeded[kind]
    if (needed !== undefined && machine.power !== needed) throw problem('platform-wrong-state', 'refused')
    if (kind === 'move' && host === machine.host) throw problem('platform-wrong-state', 'refused')
    if (host !== undefined && !this.hosts.has(host)) throw problem('platform-absent', 'absent')
    if (kind === 'start' && (machine.full || !this.#roomFor(machine)))
      throw problem('platform-no-capacity', 'refused')
    if (host !== undefined && !this.#hasRoom(host)) throw problem('platform-no-capacity', 'refused')
    if (kind === 'shutdown' && machine.guest === 'deaf') throw problem('platform-refused', 'refused')
    if (kind === 'wake' && !this.#fitting(machine, what)) throw problem('platform-refused', 'refused')
    if ((kind === 'revert' || kind === 'remove') && !machine.snapshots.has(what ?? ''))
      throw problem('platform-absent', 'absent')
  }

  /** A move goes a step further; anything else comes to its end. */
  advance(task: CloudTask): void {
    if (task.state !== 'running') return
    if (task.kind === 'move') {
      if (this.machine(task.ref).power === 'off')
        return void this.#fail(task, 'platform-wrong-state', 'refused')
      if (this.hosts.get(task.host ?? '')?.dead)
        return void this.#fail(task, 'platform-unreachable', 'unknown')
      if (task.aborting) return void this.#fail(task, 'platform-aborted', 'refused')
      if (task.step === copying && this.machine(task.ref).stalls && !task.force) return
      task.step += 1
      if (task.step <= switching) return
    }
    this.#complete(task)
  }

  abort(task: CloudTask | undefined): 'asked' | 'too-late' | 'ended' | 'absent' {
    if (!task) return 'absent'
    if (task.state !== 'running') return 'ended'
    if (task.step >= switching) return 'too-late'
    task.aborting = true
    return 'asked'
  }

  /** What guests were asked for happens. */
  goDown(machine: CloudMachine): void {
    if (machine.goesDown === machine.boot && machine.power === 'on') this.#powerOff(machine)
    machine.goesDown = null
  }

  /** A host dies, with all that runs on it; but what is being switched over runs where it was to go. */
  crash(ref: string): void {
    const host = this.hosts.get(ref)
    if (!host || host.dead) return
    host.dead = true
    this.crashes += 1
    for (const [name, machine] of this.machines) {
      const task = this.running(name)
      if (machine.host !== ref) continue
      if (task?.kind === 'move' && task.step === switching && machine.power === 'on') {
        this.#goOver(machine, task)
        task.wentOver = true
      } else if (machine.power === 'on') {
        this.#powerOff(machine)
        machine.crashed = true
      }
      if (task) this.#fail(task, 'platform-fault', 'unknown')
    }
  }

  drop(state: string): void {
    const memory = this.saved.get(state)
    if (memory && this.isWorth(memory)) this.lost.push({ machine: memory.machine, state, name: 'drop' })
    this.saved.delete(state)
  }

  /** Its memory as it is, for whoever wakes it. */
  save(ref: string): string {
    const { boot, disks } = this.machine(ref)
    const state = this.newName('state')
    this.saved.set(state, { machine: ref, boot, disks })
    return state
  }

  newName(what: string): string {
    return `${what}-${this.next()}`
  }

  next(): number {
    this.#moment += 1
    return this.#moment
  }

  #fail(task: CloudTask, ...[code, failure]: Parameters<typeof problem>): void {
    task.state = 'failed'
    task.endedAt = this.next()
    task.error = problem(code, failure)
  }

  #complete(task: CloudTask): void {
    const machine = this.machine(task.ref)
    // Meanwhile its guest was quicker: there is nothing to start anew, to save or to move.
    if ((task.kind === 'restart' || task.kind === 'save') && machine.power === 'off')
      return void this.#fail(task, 'platform-wrong-state', 'refused')
    const host = task.kind === 'start' ? this.#roomFor(machine) : task.host
    if ((task.kind === 'start' || task.kind === 'wake') && (!host || this.hosts.get(host)?.dead))
      return void this.#fail(task, 'platform-unreachable', 'unknown')
    this.#carryOut(task, machine, host ?? machine.host)
    task.state = 'succeeded'
    task.endedAt = this.next()
  }

  #carryOut(task: CloudTask, machine: CloudMachine, host: string): void {
    switch (task.kind) {
      case 'shutdown':
        if (machine.guest === 'obeys') machine.goesDown = machine.boot
        return
      case 'stop':
        return void this.#powerOff(machine)
      case 'start':
      case 'restart':
        return void this.#boot(machine, host, task)
      case 'move':
        return void this.#goOver(machine, task)
      case 'save':
        task.result = this.save(task.ref)
        return void this.#powerOff(machine)
      case 'wake':
        return void this.#wake(machine, host, task)
      case 'snapshot':
        task.result = this.newName('snapshot')
        machine.snapshots.set(task.result, task.what ?? '')
        return
      case 'remove':
        machine.snapshots.delete(task.what ?? '')
        return
      case 'revert':
        this.#forgetMemory(task)
        machine.disks += 1
        return void this.#powerOff(machine)
    }
  }

  #boot(machine: CloudMachine, host: string, task: CloudTask): void {
    if (machine.power === 'off') this.#forgetMemory(task)
    machine.disks += 1
    machine.boot = this.newName('boot')
    this.#runOn(machine, task.kind === 'restart' ? machine.host : host)
  }

  #wake(machine: CloudMachine, host: string, { what }: CloudTask): void {
    machine.boot = this.saved.get(what ?? '')?.boot ?? this.newName('boot')
    machine.disks += 1
    this.#runOn(machine, host)
  }

  #goOver(machine: CloudMachine, { host = '' }: CloudTask): void {
    machine.runs = new Set()
    this.#runOn(machine, host)
  }

  #runOn(machine: CloudMachine, host: string): void {
    machine.runs = new Set([...machine.runs, host])
    if (machine.runs.size > 1) this.broken.push(`It runs on ${[...machine.runs].join(' and ')}.`)
    machine.host = host
    machine.power = 'on'
    machine.crashed = false
  }

  #powerOff(machine: CloudMachine): void {
    machine.power = 'off'
    machine.runs = new Set()
  }

  #forgetMemory({ ref, name }: CloudTask): void {
    for (const [state, memory] of this.saved)
      if (memory.machine === ref && this.isWorth(memory)) this.lost.push({ machine: ref, state, name })
  }

  #fitting(machine: CloudMachine, state: string | undefined): boolean {
    return this.saved.get(state ?? '')?.disks === machine.disks
  }

  #hasRoom(host: string): boolean {
    const { full = true, dead = true } = this.hosts.get(host) ?? {}
    return !full && !dead
  }

  /** Where it was, or anywhere else where there is room. */
  #roomFor({ host }: CloudMachine): string | undefined {
    return [host, ...this.hosts.keys()].find((ref) => this.#hasRoom(ref))
  }
}
