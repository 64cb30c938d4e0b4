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
  /** Where it runs, or ran last: by the host's name, as the machine itself tells it. */
  readonly hosts: ReadonlyMap<string, string>
  /** Machines that their host took down, and that have not run since. */
  readonly crashed: ReadonlySet<string>
  /** Saved memory of machines that have not run since, and what was made worthless by which call; null: it does not tell. */
  readonly memory: {
    readonly kept: readonly { readonly machine: string; readonly state: string }[]
    readonly lost: readonly { readonly machine: string; readonly state: string; readonly name: string }[]
  } | null
  /** Null: it does not tell. */
  readonly snapshots: readonly { readonly machine: string; readonly snapshot: string }[] | null
}

/** All that the lab has done to the machines of one site. */
export const readLabLog = async ({ database: { db } }: TestLab, site: string): Promise<PlatformLog> => {
  const tasks = await db<
    { machine: string; name: string; kind: string; createdAt: Date; dueAt: Date; state: string }[]
  >`
    select machine, name, kind, created_at, due_at, state from lab.task
    where site = ${site} and name is not null and not inner_work order by n`
  const machines = await db<{ ref: string; power: string; host: string }[]>`
    select m.ref, m.power, coalesce(e.name, m.host) as host from lab.machine m
    left join lab.entity e on e.site = m.site and e.type = 'host' and e.ref = m.host where m.site = ${site}`
  const [world] = await db<{ offsetMs: number }[]>`select offset_ms from lab.world`
  return {
    tasks: tasks.map(({ machine, name, kind, createdAt, dueAt, state }) => ({
      ...{ machine, name, kind, begunAt: createdAt.getTime(), failed: state === 'failed' },
      endedAt: state === 'running' ? null : dueAt.getTime(),
      at: new Date(createdAt.getTime() - (world?.offsetMs ?? 0)),
    })),
    power: new Map(machines.map(({ ref, power }) => [ref, power])),
    hosts: new Map(machines.map(({ ref, host }) => [ref, host])),
    ...{ crashed: new Set<string>(), memory: null, snapshots: null },
  }
}

interface Operated {
  readonly id: string
  readonly kind: string
  readonly force: boolean
  readonly state: string
  readonly jobId: string
  readonly params: Readonly<Record<string, unknown>>
  readonly result: Readonly<Record<string, unknown>> | null
  readonly ref: string
  /** Of the machine, as its row has it. */
  readonly power: string
  readonly host: string
  readonly settledAt: Date | null
}

interface MemoryRow {
  readonly ref: string
  readonly savedState: string | null
}

/** Clocks of two processes on one machine, read a moment apart. */
const clockMs = 50

type TasksOf = (one: Operated) => readonly BegunTask[]

/**
 * Holds what the platform did against what was asked of it: each operation had each of its calls carried out once at
 * most and none after it was settled, what an older one began had stopped before a newer one acted, every machine is
 * where the last one that acted has left it, no memory that was saved is lost, and nothing is left of what was given
 * up. For when all is at rest.
 */
export const checkMachines = async (db: Db, log: PlatformLog): Promise<string[]> => {
  const operations = await db<Operated[]>`
    select o.id, o.kind, o.force, o.state, o.job_id, o.params, o.result, m.ref, m.power, m.host, o.settled_at
    from operation o join machine m on m.id = o.machine_id where o.started_at is not null order by o.started_at, o.id`
  const rows = await db<MemoryRow[]>`select ref, saved_state from machine where gone_at is null`
  const undone = await db<{ id: string; jobId: string }[]>`
    select e.id, e.job_id from effect e join operation o on o.job_id = e.job_id`
  // What calls off an effect is named after that.
  const jobOf = new Map(undone.map(({ id, jobId }) => [id, jobId]))
  const byJob = new Map<string, BegunTask[]>()
  for (const task of log.tasks) {
    const id = task.name.slice(0, 36)
    const job = jobOf.get(id) ?? id
    byJob.set(job, [...(byJob.get(job) ?? []), task])
  }
  const tasksOf: TasksOf = ({ jobId }) => byJob.get(jobId) ?? []
  const byMachine = new Map<string, Operated[]>()
  for (const one of operations) byMachine.set(one.ref, [...(byMachine.get(one.ref) ?? []), one])
  return [
    ...operations.flatMap((one) => [
      ...repeated(one, tasksOf(one)),
      ...late(one, tasksOf(one)),
      ...moved(one, tasksOf(one)),
    ]),
    ...[...byMachine.values()].flatMap((all) => [...overlapping(all, tasksOf), ...astray(all, tasksOf, log)]),
    ...forgotten(operations, rows, log),
    ...leftBehind(operations, log),
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

/** A move that is done was one move, and the last of it is where its machine came to. */
const moved = ({ id, kind, state, result }: Operated, tasks: readonly BegunTask[]): string[] => {
  if (state !== 'completed' || (kind !== 'migrate' && kind !== 'evict') || result?.by !== undefined) return []
  const times = tasks.filter((task) => task.kind === 'move' && !task.failed).length
  return times === 1 ? [] : [`once: ${kind} ${id} is completed, and its machine was moved ${times} times`]
}

const overlapping = (operations: readonly Operated[], tasksOf: TasksOf): string[] =>
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

/** Where its end leaves the machine; undefined: as it was. */
const wantedBy = ({ kind, result }: Operated): unknown =>
  kind === 'restore' ? result?.power : runsAfter[kind]

/** Tasks that leave the power of a machine as it is. */
const besidePower: readonly string[] = ['move', 'snapshot', 'remove']

const astray = (
  operations: readonly Operated[],
  tasksOf: TasksOf,
  { power, hosts, crashed }: PlatformLog,
): string[] => {
  const steering = operations.filter(
    (one) => one.kind in runsAfter || (one.kind === 'restore' && tasksOf(one).length > 0),
  )
  const last = steering.at(-1)
  // Of one that was given up half-way nobody can say where it leaves its machine.
  if (last?.state !== 'completed' || crashed.has(last.ref)) return []
  const wanted = wantedBy(last)
  const is = power.get(last.ref)
  const host = hosts.get(last.ref)
  if (is === wanted)
    return [
      ...(last.power === is ? [] : [`end: ${last.ref} is ${is}, and its row says ${last.power}`]),
      ...(is === 'off' || last.host === host
        ? []
        : [`end: ${last.ref} runs on ${host}, and its row says ${last.host}`]),
    ]
  // A guest that was asked to shut down cannot be told otherwise: it may go down after who asked was given up.
  const [lastTask] = operations
    .flatMap((one) => tasksOf(one).map((task) => ({ ...task, state: one.state })))
    .filter(({ failed, kind }) => !failed && !besidePower.includes(kind))
    .toSorted((a, b) => b.begunAt - a.begunAt)
  if (is === 'off' && lastTask?.kind === 'shutdown' && lastTask.state !== 'completed') return []
  return [`end: ${last.ref} is ${is}, and ${last.kind} ${last.id} left it ${wanted}`]
}

/** Memory that was saved is there until its machine was woken from it, or until a person gave it up. */
const forgotten = (
  operations: readonly Operated[],
  rows: readonly MemoryRow[],
  { memory, power }: PlatformLog,
): string[] => {
  if (memory === null) return []
  const lost = memory.lost.flatMap(({ machine, state, name }) => {
    const by = operations.find(({ jobId }) => jobId === name.slice(0, 36))
    if (by?.kind === 'wake' && by.params.cold === true) return []
    return [`memory: ${state} of ${machine} was lost to ${by ? `${by.kind} ${by.id}` : name}`]
  })
  const unknown = memory.kept.flatMap(({ machine, state }) =>
    rows.some(({ ref, savedState }) => ref === machine && savedState === state)
      ? []
      : [`memory: ${machine} could be woken from ${state}, and its row does not say so`],
  )
  const gone = rows.flatMap(({ ref, savedState }) =>
    savedState === null || (power.get(ref) === 'off' && memory.kept.some(({ state }) => state === savedState))
      ? []
      : [`memory: the row of ${ref} says ${savedState}, from which it cannot be woken`],
  )
  return [...lost, ...unknown, ...gone]
}

const leftBehind = (operations: readonly Operated[], { snapshots }: PlatformLog): string[] =>
  (snapshots ?? []).flatMap(({ machine, snapshot }) =>
    operations.some(({ kind, result }) => kind === 'snapshot' && result?.snapshot === snapshot)
      ? []
      : [`left: ${snapshot} is on ${machine}, and nobody has made it to its end`],
  )
