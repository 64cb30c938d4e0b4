import type { Db } from '../../db/client.ts'
import type { TestLab } from './lab.ts'

/** Work of a platform on a machine, that a call of ours has begun. */
export interface BegunTask {
  readonly machine: string
  /** Of the call that began it. */
  readonly name: string
  readonly kind: string
  /** In one order with each other; `endedAt` null: it goes on. */
  readonly begunAt: number
  readonly endedAt: number | null
  readonly failed: boolean
  /** When it was begun by the clock that Postgres has, too; null: there is no such clock. */
  readonly at: Date | null
}

/** What a platform knows of its machines, told by itself. */
export interface PlatformLog {
  readonly tasks: readonly BegunTask[]
  /** `on`, `off`, by the machine's ref. */
  readonly power: ReadonlyMap<string, string>
}

/** All that the lab has done to the machines of one site. */
export const readLabLog = async ({ database: { db } }: TestLab, site: string): Promise<PlatformLog> => {
  const tasks = await db<
    { machine: string; name: string; kind: string; createdAt: Date; dueAt: Date; state: string }[]
  >`
    select machine, name, kind, created_at, due_at, state from lab.task
    where site = ${site} and name is not null and not inner_work order by n`
  const machines = await db<{ ref: string; power: string }[]>`
    select ref, power from lab.machine where site = ${site}`
  const [world] = await db<{ offsetMs: number }[]>`select offset_ms from lab.world`
  return {
    tasks: tasks.map(({ machine, name, kind, createdAt, dueAt, state }) => ({
      ...{ machine, name, kind, begunAt: createdAt.getTime(), failed: state === 'failed' },
      endedAt: state === 'running' ? null : dueAt.getTime(),
      at: new Date(createdAt.getTime() - (world?.offsetMs ?? 0)),
    })),
    power: new Map(machines.map(({ ref, power }) => [ref, power])),
  }
}

interface Operated {
  readonly id: string
  readonly kind: string
  readonly force: boolean
  readonly state: string
  readonly jobId: string
  readonly ref: string
  /** Of the machine, as its row has it. */
  readonly power: string
  readonly settledAt: Date | null
}

/** Clocks of two processes on one machine, read a moment apart. */
const clockMs = 50

/**
 * Holds what the platform did against what was asked of it: each operation had each of its calls carried out once at
 * most and none after it was settled, what an older one began had stopped before a newer one acted, and every machine
 * is where the last one that acted has left it. For when all is at rest.
 */
export const checkMachines = async (db: Db, log: PlatformLog): Promise<string[]> => {
  const operations = await db<Operated[]>`
    select o.id, o.kind, o.force, o.state, o.job_id, m.ref, m.power, o.settled_at
    from operation o join machine m on m.id = o.machine_id where o.started_at is not null order by o.started_at, o.id`
  const byJob = new Map<string, BegunTask[]>()
  for (const task of log.tasks) {
    const job = task.name.slice(0, 36)
    byJob.set(job, [...(byJob.get(job) ?? []), task])
  }
  const tasksOf = ({ jobId }: Operated) => byJob.get(jobId) ?? []
  const byMachine = new Map<string, Operated[]>()
  for (const one of operations) byMachine.set(one.ref, [...(byMachine.get(one.ref) ?? []), one])
  return [
    ...operations.flatMap((one) => [...repeated(one, tasksOf(one)), ...late(one, tasksOf(one))]),
    ...[...byMachine.values()].flatMap((all) => [
      ...overlapping(all, tasksOf),
      ...astray(all, tasksOf, log.power),
    ]),
  ]
}

const repeated = ({ id, kind }: Operated, tasks: readonly BegunTask[]): string[] => {
  const counts = new Map<string, number>()
  for (const task of tasks) if (!task.failed) counts.set(task.kind, (counts.get(task.kind) ?? 0) + 1)
  return [...counts].flatMap(([what, times]) =>
    times > 1 ? [`once: ${kind} ${id} had "${what}" carried out ${times} times`] : [],
  )
}

const late = ({ id, kind, settledAt }: Operated, tasks: readonly BegunTask[]): string[] =>
  tasks.flatMap(({ kind: what, at }) =>
    at !== null && settledAt !== null && at.getTime() > settledAt.getTime() + clockMs
      ? [`late: ${kind} ${id} began "${what}" ${at.getTime() - settledAt.getTime()} ms after it was settled`]
      : [],
  )

const overlapping = (
  operations: readonly Operated[],
  tasksOf: (one: Operated) => readonly BegunTask[],
): string[] =>
  operations.flatMap((newer, index) => {
    const first = Math.min(...tasksOf(newer).map(({ begunAt }) => begunAt))
    return operations.slice(0, index).flatMap((older) =>
      tasksOf(older)
        .filter(({ begunAt, endedAt }) => begunAt > first || (endedAt ?? Number.POSITIVE_INFINITY) > first)
        .map(
          (task) =>
            `turn: "${task.kind}" of ${older.kind} ${older.id} was not over when ${newer.kind} ${newer.id} acted`,
        ),
    )
  })

const runsAfter: Readonly<Record<string, string>> = {
  ...{ start: 'on', restart: 'on', wake: 'on', migrate: 'on', evict: 'on' },
  ...{ stop: 'off', hibernate: 'off' },
}

const astray = (
  operations: readonly Operated[],
  tasksOf: (one: Operated) => readonly BegunTask[],
  power: PlatformLog['power'],
): string[] => {
  const steering = operations.filter(({ kind }) => kind in runsAfter)
  const last = steering.at(-1)
  // Of one that was given up half-way nobody can say where it leaves its machine.
  if (last?.state !== 'completed') return []
  const wanted = runsAfter[last.kind]
  const is = power.get(last.ref)
  if (is === wanted)
    return last.power === is ? [] : [`end: ${last.ref} is ${is}, and its row says ${last.power}`]
  // A guest that was asked to shut down cannot be told otherwise: it may go down after who asked was given up.
  const [lastTask] = operations
    .flatMap((one) => tasksOf(one).map((task) => ({ ...task, state: one.state })))
    .filter(({ failed }) => !failed)
    .toSorted((a, b) => b.begunAt - a.begunAt)
  if (is === 'off' && lastTask?.kind === 'shutdown' && lastTask.state !== 'completed') return []
  return [`end: ${last.ref} is ${is}, and ${last.kind} ${last.id} left it ${wanted}`]
}
