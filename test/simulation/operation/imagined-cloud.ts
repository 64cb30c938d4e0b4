import { PlatformError } from '../../../src/platforms/platform-error.ts'
import type { PowerFacts, PowerPort } from '../../../src/platforms/ports/power.ts'
import type { TaskHandle, TaskStatus } from '../../../src/platforms/ports/task.ts'
import type { Platform } from '../../../src/platforms/ports.ts'
import type { PlatformLog } from '../../support/operated-machines.ts'
import type { Life } from './life.ts'

export type Guest = 'obeys' | 'hangs' | 'deaf'
type Verb = 'start' | 'shutdown' | 'stop' | 'restart'

interface CloudMachine {
  power: 'on' | 'off'
  /** Of this run of it. */
  boot: string
  readonly guest: Guest
  /** The run that was asked to shut itself down, and has not yet. */
  goesDown: string | null
  full: boolean
}

interface CloudTask {
  readonly id: string
  readonly name: string
  readonly machine: string
  readonly kind: Verb
  readonly begunAt: number
  endedAt: number | null
  state: TaskStatus['state']
  error: PlatformError | null
}

const problem = (
  code: ConstructorParameters<typeof PlatformError>[0]['code'],
  failure: 'refused' | 'unknown',
): PlatformError =>
  new PlatformError({ code, failure, message: `It answers ${code}.`, remedy: 'Look at the platform.' })

/**
 * A platform in memory that does everything in two steps: a call is accepted, and its task comes about later. It does
 * not remember names as the lab does: the same call twice is done twice.
 */
export class ImaginedCloud {
  readonly machines = new Map<string, CloudMachine>()
  /** Nobody reaches it. */
  away = false
  /** The next call that changes something is done, and its answer lost. */
  losesAnswer = false
  /** Whether who waits for a task sees its end. */
  patience: () => boolean = () => true
  /** Asked before a call is carried out. */
  onAct: (name: string) => Promise<void> = () => Promise.resolve()
  readonly #tasks: CloudTask[] = []
  #moment = 0

  put(ref: string, power: 'on' | 'off', guest: Guest): void {
    this.machines.set(ref, { power, boot: this.#newBoot(), guest, goesDown: null, full: false })
  }

  log(): PlatformLog {
    return {
      tasks: this.#tasks.map((task) => ({ ...task, failed: task.state === 'failed', at: null })),
      power: new Map([...this.machines].map(([ref, { power }]) => [ref, power])),
    }
  }

  /** What was begun at a machine comes about, and what its guest was asked for. */
  comeAbout(ref: string): void {
    for (const task of this.#tasks) if (task.machine === ref && task.state === 'running') this.#finish(task)
    const machine = this.#machine(ref)
    if (machine.goesDown !== null && machine.goesDown === machine.boot && machine.power === 'on')
      machine.power = 'off'
    machine.goesDown = null
  }

  /** As a process reaches it. */
  reachedBy(life: Life): Platform {
    const power: PowerPort = {
      power: (_call, ref) => this.#look(life, () => ({ found: true as const, value: this.#facts(ref) })),
      findTask: (_call, { taskId, name }) =>
        this.#look(life, () => {
          const found = this.#tasks.findLast((task) => (taskId ? task.id === taskId : task.name === name))
          return found
            ? { found: true as const, value: this.#handle(life, found) }
            : { found: false as const }
        }),
      start: ({ name }, ref) => this.#act(life, { name, ref, kind: 'start' }),
      shutdownGuest: ({ name }, ref) => this.#act(life, { name, ref, kind: 'shutdown' }),
      stop: ({ name }, ref) => this.#act(life, { name, ref, kind: 'stop' }),
      restart: ({ name }, ref) => this.#act(life, { name, ref, kind: 'restart' }),
      suspend: () => Promise.reject(problem('platform-refused', 'refused')),
    }
    return {
      kind: 'imagined',
      capabilities: new Set(['power', 'guest-shutdown']),
      ports: { power },
      probe: () => Promise.reject(problem('platform-refused', 'refused')),
      close: () => Promise.resolve(),
    }
  }

  async #look<Seen>(life: Life, look: () => Seen): Promise<Seen> {
    await life.rest()
    if (this.away) throw problem('platform-unreachable', 'unknown')
    const seen = look()
    await life.rest()
    return seen
  }

  async #act(
    life: Life,
    { name, ref, kind }: { name: string; ref: string; kind: Verb },
  ): Promise<TaskHandle> {
    // Dead it may be here, but not frozen: nobody can fence what is on the wire already.
    life.pass()
    await this.onAct(name)
    if (this.away) throw problem('platform-unreachable', 'unknown')
    this.#admit(ref, kind)
    const task: CloudTask = {
      ...{ id: `task-${this.#tasks.length + 1}`, name, machine: ref, kind },
      ...{ begunAt: this.#next(), endedAt: null, state: 'running', error: null },
    }
    this.#tasks.push(task)
    await life.rest()
    if (this.losesAnswer) {
      this.losesAnswer = false
      throw problem('platform-timeout', 'unknown')
    }
    return this.#handle(life, task)
  }

  #admit(ref: string, kind: Verb): void {
    const machine = this.#machine(ref)
    if (this.#tasks.some((task) => task.machine === ref && task.state === 'running'))
      throw problem('platform-busy', 'refused')
    if (machine.power !== (kind === 'start' ? 'off' : 'on')) throw problem('platform-wrong-state', 'refused')
    if (kind === 'start' && machine.full) throw problem('platform-no-capacity', 'refused')
    if (kind === 'shutdown' && machine.guest === 'deaf') throw problem('platform-refused', 'refused')
  }

  #handle(life: Life, task: CloudTask): TaskHandle {
    const status = () =>
      this.#look(life, () => ({
        ...{ id: task.id, state: task.state, percent: null, result: null, error: task.error },
      }))
    return {
      id: task.id,
      status,
      wait: async () => {
        await life.rest()
        if (this.away) throw problem('platform-unreachable', 'unknown')
        if (task.state === 'running' && this.patience()) this.#finish(task)
        if (task.state === 'running') throw problem('platform-timeout', 'unknown')
        if (task.error) throw task.error
        await life.rest()
        return null
      },
    }
  }

  #finish(task: CloudTask): void {
    const machine = this.#machine(task.machine)
    task.state = 'succeeded'
    task.endedAt = this.#next()
    switch (task.kind) {
      case 'shutdown':
        if (machine.guest === 'obeys') machine.goesDown = machine.boot
        return
      case 'stop':
        machine.power = 'off'
        return
      case 'start':
      case 'restart':
        // Its guest was quicker: there is nothing to start anew.
        if (task.kind === 'restart' && machine.power === 'off') {
          task.state = 'failed'
          task.error = problem('platform-wrong-state', 'refused')
          return
        }
        machine.power = 'on'
        machine.boot = this.#newBoot()
    }
  }

  #facts(ref: string): PowerFacts {
    const { power, boot } = this.#machine(ref)
    return { state: power, host: 'node-1', boot_id: power === 'on' ? boot : '' }
  }

  #machine(ref: string): CloudMachine {
    const machine = this.machines.get(ref)
    if (!machine) throw new Error(`There is no machine ${ref}.`)
    return machine
  }

  #newBoot(): string {
    return `boot-${this.#next()}`
  }

  #next(): number {
    this.#moment += 1
    return this.#moment
  }
}
