import { createHash } from 'node:crypto'
import { isDbAway } from '../../../db/client.ts'
import { type Change, changeReason, type Lab } from '../model/context.ts'
import { absent, Refusal, refuse, unreachable, wireErrorOf } from '../model/refusal.ts'
import { findEntity } from '../store/entities.ts'
import { findMachine, type Machine } from '../store/machines.ts'
import { changeSite, readTime } from '../store/sites.ts'
import {
  addTask,
  busyWith,
  dueTasks,
  endTask,
  findTaskByName,
  forgetTaskName,
  type Task,
  takeTask,
} from '../store/tasks.ts'

export interface TaskPlan {
  readonly machine?: string
  readonly args?: Record<string, unknown>
  readonly alongside?: boolean
  /** Instead of what its kind takes; infinity: it does not end by itself. */
  readonly takesMs?: number
}

/** A way to change a machine that takes time. */
export interface TaskKind {
  /** How long it takes at pace 1. */
  readonly takesMs: number
  /** Looks whether it may begin, and what it will work with; nothing is changed yet. */
  readonly begin: (
    change: Change,
    machine: Machine | undefined,
    args: Record<string, unknown>,
  ) => Promise<TaskPlan>
  /** Does it, at the moment it is due. Answers what it made. */
  readonly apply: (change: Change, machine: Machine | undefined, task: Task) => Promise<string | null>
}

export interface Ask {
  readonly site: string
  readonly kind: string
  /** Empty for what makes a machine. */
  readonly machine: string
  readonly args: Record<string, unknown>
  readonly name: string
  readonly caller: string
}

export class Tasks {
  readonly #lab: Lab
  readonly #kinds: Readonly<Record<string, TaskKind>>
  #round: Promise<void> = Promise.resolve()
  #next: Promise<void> | undefined

  constructor(lab: Lab, kinds: Readonly<Record<string, TaskKind>>) {
    this.#lab = lab
    this.#kinds = kinds
  }

  /** Starts the work, or finds it by its name where it was started before. */
  async begin(ask: Ask): Promise<Task> {
    const kind = this.#kind(ask.kind)
    const asked = createHash('sha256')
      .update(JSON.stringify([ask.kind, ask.machine, ask.args]))
      .digest('hex')
    return await changeSite(this.#lab, ask.site, { why: changeReason(ask) }, async (change) => {
      if (ask.name !== '') {
        const first = await findTaskByName(change.tx, ask.site, ask.name)
        if (first && sameOrRefuse(first, asked).state !== 'failed') return first
        // What failed did not happen: the same intent may be tried again.
        if (first) await forgetTaskName(change.tx, first)
      }
      const plan = await planTask(change, kind, ask)
      return await addTask(change, {
        kind: ask.kind,
        machine: plan.machine ?? ask.machine,
        args: { ...ask.args, ...plan.args, asked },
        name: ask.name === '' ? null : ask.name,
        caller: ask.caller,
        takesMs: plan.takesMs ?? kind.takesMs,
      })
    })
  }

  /** Refuses what `begin` would refuse, and begins nothing. */
  async check(ask: Omit<Ask, 'name'>): Promise<void> {
    const kind = this.#kind(ask.kind)
    const why = changeReason({ ...ask, name: 'check' })
    await changeSite(this.#lab, ask.site, { why }, async (change) => {
      await planTask(change, kind, ask)
    })
  }

  /**
   * Does everything whose time has come, in its order and at its moment. There are no timers: whoever asks next
   * finds the world as it should be by now, after a restart of the lab too.
   */
  settle(): Promise<void> {
    // One round at a time; who comes during it waits for the next, together with all others who do.
    this.#next ??= this.#round.then(() => {
      this.#next = undefined
      const round = this.#settleAll()
      this.#round = round.catch(() => {})
      return round
    })
    return this.#next
  }

  async #settleAll(): Promise<void> {
    for (;;) {
      const { now } = await readTime(this.#lab)
      const due = await dueTasks(this.#lab.db, now)
      if (due.length === 0) return
      for (const task of due) await this.#finish(task)
    }
  }

  async #finish(task: Task): Promise<void> {
    const options = { at: task.dueAt.getTime(), why: changeReason({ ...task, name: task.name ?? '' }) }
    try {
      await changeSite(this.#lab, task.site, options, async (change) => {
        if (!(await takeTask(change, task.id))) return
        const machine =
          task.machine === '' ? undefined : await findMachine(change.tx, task.site, task.machine)
        if (machine && !task.innerWork) await checkReachable(change, machine)
        const result = await this.#kind(task.kind).apply(change, machine, task)
        await endTask(change.tx, task.id, { result, error: null })
      })
    } catch (thrown) {
      // Nothing was done, and the next round does it.
      if (isDbAway(thrown)) throw thrown
      if (!(thrown instanceof Refusal)) this.#lab.log.error({ err: thrown, task: task.id }, 'a task failed')
      await endTask(this.#lab.db, task.id, { result: null, error: wireErrorOf(thrown) })
    }
  }

  #kind(name: string): TaskKind {
    const kind = this.#kinds[name]
    if (!kind) throw new Error(`The lab has no task kind "${name}".`)
    return kind
  }
}

const planTask = async (change: Change, kind: TaskKind, ask: Omit<Ask, 'name'>): Promise<TaskPlan> => {
  const machine = ask.machine === '' ? undefined : await findMachine(change.tx, ask.site, ask.machine)
  if (ask.machine !== '' && !machine) throw absent(`machine "${ask.machine.slice(0, 100)}" in ${ask.site}`)
  if (machine) await checkReachable(change, machine)
  const plan = await kind.begin(change, machine, ask.args)
  const busy = machine && !plan.alongside ? await busyWith(change.tx, ask.site, machine.ref) : undefined
  if (busy) throw busyBy(busy)
  return plan
}

const sameOrRefuse = (first: Task, asked: string): Task => {
  if (first.args.asked === asked) return first
  throw refuse(
    'platform-refused',
    `The name "${(first.name ?? '').slice(0, 100)}" was given to something else before: ${first.kind}.`,
    'Give every intent a name of its own.',
  )
}

const busyBy = (task: Task): Refusal =>
  refuse(
    'platform-busy',
    `Task ${task.id} (${task.kind}) works on that machine.`,
    'Wait for that task to end.',
  )

/** Nobody can act on a machine whose host does not answer. */
export const checkReachable = async (
  change: Pick<Change, 'tx' | 'site'>,
  machine: Machine,
): Promise<void> => {
  if (machine.host === '') return
  const host = await findEntity(change.tx, change.site, { type: 'host', ref: machine.host })
  if (host?.trouble.dead) throw unreachable(`Host ${host.name} of machine "${machine.ref}"`)
}
