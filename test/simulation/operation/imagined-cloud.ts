import type {
  HibernatePort,
  LiveMovePort,
  MoveHandle,
  MoveStatus,
} from '../../../src/platforms/ports/hibernate.ts'
import type { MachinesPort } from '../../../src/platforms/ports/machines.ts'
import type { Platform } from '../../../src/platforms/ports/ports.ts'
import type { PowerFacts, PowerPort } from '../../../src/platforms/ports/power.ts'
import type { Found, TaskTrace } from '../../../src/platforms/ports/task.ts'
import type { PlatformLog } from '../../support/operated-machines.ts'
import { CloudState, givenSnapshot } from './cloud-state.ts'
import { type CloudAsk, type CloudTask, moveSteps, problem } from './cloud-things.ts'
import type { Life } from './life.ts'

const digest = `sha256:${'5e'.repeat(32)}`
const GiB = 1024 ** 3

/**
 * A platform in memory that does everything in two steps or more: a call is accepted, and its task comes about later. It
 * does not remember names as the lab does: the same call twice is done twice.
 */
export class ImaginedCloud {
  readonly state = new CloudState()
  /** Nobody reaches it. */
  away = false
  /** The next call that changes something is done, and its answer lost. */
  losesAnswer = false
  /** Whether a task goes on while somebody looks at it, and whether who waits for one sees its end. */
  patience: () => boolean = () => true
  /** Asked before a call is carried out. */
  onAct: (name: string, ref: string) => Promise<void> = () => Promise.resolve()

  log(): PlatformLog {
    const { tasks, machines, saved, lost } = this.state
    const worth = [...saved].filter(([, memory]) => this.state.isWorth(memory))
    return {
      tasks: tasks.map(({ ref, name, kind, begunAt, endedAt, state, wentOver }) => ({
        ...{ machine: ref, name, kind, begunAt, endedAt, at: null },
        failed: state === 'failed' && !wentOver,
      })),
      power: new Map([...machines].map(([ref, { power }]) => [ref, power])),
      hosts: new Map([...machines].map(([ref, { host }]) => [ref, host])),
      crashed: new Set([...machines].flatMap(([ref, { crashed }]) => (crashed ? [ref] : []))),
      memory: { kept: worth.map(([state, { machine }]) => ({ machine, state })), lost },
      snapshots: [...machines].flatMap(([machine, { snapshots }]) =>
        [...snapshots.keys()]
          .filter((snapshot) => snapshot !== givenSnapshot)
          .map((snapshot) => ({ machine, snapshot })),
      ),
    }
  }

  /** What was begun at a machine comes about, a step of it, and what its guest was asked for. */
  comeAbout(ref: string): void {
    const task = this.state.running(ref)
    if (task) this.state.advance(task)
    this.state.goDown(this.state.machine(ref))
  }

  /** As a process reaches it. */
  reachedBy(life: Life): Platform {
    return {
      kind: 'imagined',
      capabilities: new Set(['power', 'guest-shutdown', 'live-move', 'hibernate', 'snapshots']),
      ports: {
        power: this.#power(life),
        liveMove: this.#liveMove(life),
        hibernate: this.#hibernate(life),
        machines: this.#machines(life) as MachinesPort,
      },
      probe: () => Promise.reject(problem('platform-refused', 'refused')),
      close: () => Promise.resolve(),
    }
  }

  #power(life: Life): PowerPort {
    return {
      power: (_call, ref) => this.#look(life, () => ({ found: true as const, value: this.#facts(ref) })),
      findTask: (_call, trace) => this.#find(life, trace, (task) => this.#handle(life, task)),
      start: ({ name }, ref) => this.#act(life, { name, ref, kind: 'start' }),
      shutdownGuest: ({ name }, ref) => this.#act(life, { name, ref, kind: 'shutdown' }),
      stop: ({ name }, ref) => this.#act(life, { name, ref, kind: 'stop' }),
      restart: ({ name }, ref) => this.#act(life, { name, ref, kind: 'restart' }),
      suspend: () => Promise.reject(problem('platform-refused', 'refused')),
    }
  }

  #liveMove(life: Life): LiveMovePort {
    const find = ({ taskId, name, machine }: TaskTrace) =>
      this.state.tasks.findLast((task) =>
        taskId !== undefined
          ? task.id === taskId
          : name !== undefined
            ? task.name === name
            : task.ref === machine && task.kind === 'move',
      )
    return {
      checkMove: ({ name }, ref, { host, force }) =>
        this.#look(life, () => this.state.admit({ name, ref, kind: 'move', host, force })),
      move: async ({ name }, ref, { host, force }) => {
        const { id } = await this.#act(life, { name, ref, kind: 'move', host, force })
        return this.#handle(life, find({ taskId: id }) as CloudTask)
      },
      findTask: (_call, trace) =>
        this.#look(life, () => {
          const found = find(trace)
          return found
            ? { found: true as const, value: this.#handle(life, found) }
            : { found: false as const }
        }),
      abort: async ({ name }, trace) => {
        life.pass()
        await this.onAct(name, trace.machine ?? '')
        if (this.away) throw problem('platform-unreachable', 'unknown')
        const answer = this.state.abort(find(trace))
        await life.rest()
        this.#answer()
        return answer
      },
    }
  }

  #hibernate(life: Life): HibernatePort {
    return {
      findTask: (_call, trace) => this.#find(life, trace, (task) => this.#handle(life, task)),
      save: ({ name }, ref) => this.#act(life, { name, ref, kind: 'save' }),
      saved: (_call, ref) =>
        this.#look(life, () => {
          const memory = this.state.saved.get(ref)
          if (!memory) return { found: false as const }
          return {
            found: true as const,
            value: { ref, machine: memory.machine, size: GiB, digest, complete: true },
          }
        }),
      restore: ({ name }, state, { host }) => {
        const memory = this.state.saved.get(state)
        if (!memory) return Promise.reject(problem('platform-absent', 'absent'))
        return this.#act(life, { name, ref: memory.machine, kind: 'wake', host, what: state })
      },
      dropSaved: async (_call, ref) => {
        life.pass()
        if (this.away) throw problem('platform-unreachable', 'unknown')
        this.state.drop(ref)
        await life.rest()
        this.#answer()
      },
    }
  }

  /** As far as snapshots go: it makes no machines. */
  #machines(life: Life): Partial<MachinesPort> {
    return {
      findTask: (_call, trace) => this.#find(life, trace, (task) => this.#handle(life, task)),
      snapshots: (_call, ref) =>
        this.#look(life, () => ({
          found: true as const,
          value: [...this.state.machine(ref).snapshots].map(([snapshot, name]) => ({
            ...{ ref: snapshot, name, parent: null },
          })),
        })),
      createSnapshot: ({ name }, ref, { snapshotName }) =>
        this.#act(life, { name, ref, kind: 'snapshot', what: snapshotName }),
      revertToSnapshot: ({ name }, ref, what) => this.#act(life, { name, ref, kind: 'revert', what }),
      removeSnapshot: ({ name }, ref, what) => this.#act(life, { name, ref, kind: 'remove', what }),
    }
  }

  #find<Handle>(
    life: Life,
    { taskId, name }: TaskTrace,
    as: (task: CloudTask) => Handle,
  ): Promise<Found<Handle>> {
    return this.#look(life, () => {
      const found = this.state.tasks.findLast((task) => (taskId ? task.id === taskId : task.name === name))
      return found ? { found: true as const, value: as(found) } : { found: false as const }
    })
  }

  async #look<Seen>(life: Life, look: () => Seen): Promise<Seen> {
    await life.rest()
    if (this.away) throw problem('platform-unreachable', 'unknown')
    const seen = look()
    await life.rest()
    return seen
  }

  async #act(life: Life, ask: CloudAsk): Promise<MoveHandle> {
    // Dead it may be here, but not frozen: nobody can fence what is on the wire already.
    life.pass()
    await this.onAct(ask.name, ask.ref)
    if (this.away) throw problem('platform-unreachable', 'unknown')
    const task = this.state.begin(ask)
    await life.rest()
    this.#answer()
    return this.#handle(life, task)
  }

  #answer(): void {
    if (!this.losesAnswer) return
    this.losesAnswer = false
    throw problem('platform-timeout', 'unknown')
  }

  #handle(life: Life, task: CloudTask): MoveHandle {
    return {
      id: task.id,
      status: () => this.#status(life, task),
      wait: async () => {
        await life.rest()
        if (this.away) throw problem('platform-unreachable', 'unknown')
        if (task.state === 'running' && this.patience()) this.state.advance(task)
        if (task.state === 'running') throw problem('platform-timeout', 'unknown')
        if (task.error) throw task.error
        await life.rest()
        return task.result
      },
    }
  }

  /** As it is; it goes on when it was looked at. */
  async #status(life: Life, task: CloudTask): Promise<MoveStatus> {
    const seen = await this.#look(life, () => {
      const { id, state, result, error, step } = task
      const move = {
        ...{ phase: moveSteps[Math.min(step, 3)] ?? null, percent: step * 30 },
        ...{ copiedBytes: step, totalBytes: 4, iteration: step, throttlePercent: 0, converging: null },
        abortable: step < 3,
      }
      return { id, state, percent: null, result, error, move }
    })
    if (this.patience()) this.state.advance(task)
    return seen
  }

  #facts(ref: string): PowerFacts {
    const { power, boot, host } = this.state.machine(ref)
    return { state: power, host, boot_id: power === 'on' ? boot : '' }
  }
}
