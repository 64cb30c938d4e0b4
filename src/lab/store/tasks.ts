import { validate as isUuid } from 'uuid'
import type { Queryable } from '../../../db/client.ts'
import type { WireError, WireTask } from '../../platforms/lab/protocol.ts'
import { storableText } from '../../storable.ts'
import { type Change, newId, toDate } from '../model/context.ts'
import { moveProgress } from '../model/move-progress.ts'

export interface Task {
  readonly id: string
  readonly site: string
  readonly name: string | null
  readonly caller: string
  readonly kind: string
  readonly machine: string
  readonly args: Record<string, unknown>
  /** Not a caller's: what the lab does by itself. */
  readonly innerWork: boolean
  readonly state: 'running' | 'succeeded' | 'failed'
  readonly createdAt: Date
  readonly dueAt: Date
  readonly result: string | null
  readonly error: WireError | null
}

export interface NewTask {
  readonly kind: string
  readonly machine: string
  readonly args: Record<string, unknown>
  readonly name: string | null
  readonly caller: string
  readonly takesMs: number
  readonly inner?: boolean
}

/** When a task is due that does not end by itself. */
const never = new Date('9999-01-01T00:00:00Z')

export const addTask = async (change: Change, task: NewTask): Promise<Task> => {
  const { tx, site, at, pace } = change
  const [row] = await tx<Task[]>`
    insert into lab.task (id, site, name, caller, kind, machine, args, inner_work, created_at, due_at)
    values (${newId()}, ${site}, ${task.name === null ? null : storableText(task.name)},
      ${storableText(task.caller)}, ${task.kind}, ${task.machine},
      ${tx.json(task.args as never)}, ${task.inner ?? false}, ${toDate(at)},
      ${Number.isFinite(task.takesMs) ? toDate(at + Math.round(task.takesMs * pace)) : never})
    returning *`
  if (!row) throw new Error('A task was not stored.')
  return row
}

export const findTaskByName = async (
  db: Queryable,
  site: string,
  name: string,
): Promise<Task | undefined> => {
  const [row] = await db<Task[]>`
    select * from lab.task where site = ${site} and name = ${storableText(name)}`
  return row
}

/** The next call with its name is a new one: what it asked for did not come about, or was taken back. */
export const forgetTaskName = async (
  db: Queryable,
  task: { site: string; machine: string; kind: string; id?: string },
): Promise<void> => {
  await db`
    update lab.task set name = null
    where site = ${task.site} and machine = ${task.machine} and kind = ${task.kind}
      and (${task.id ?? ''} = '' or id::text = ${task.id ?? ''})`
}

export const findTask = async (db: Queryable, site: string, id: string): Promise<Task | undefined> => {
  // A caller may send anything for an id; compared as text it would cost a look at every task.
  if (!isUuid(id)) return undefined
  const [row] = await db<Task[]>`
    select * from lab.task where site = ${site} and id = ${id}::uuid and not inner_work`
  return row
}

export const listTasks = async (
  db: Queryable,
  which: { site: string; name: string; machine: string },
): Promise<Task[]> =>
  await db<Task[]>`
    select * from lab.task where site = ${which.site} and not inner_work
      and (${which.name} = '' or name = ${storableText(which.name)})
      and (${which.machine} = '' or machine = ${storableText(which.machine)})
    order by n desc limit 100`

/** The task that works on the machine now, if one does: nothing else may then. */
export const busyWith = async (db: Queryable, site: string, machine: string): Promise<Task | undefined> => {
  const [row] = await db<Task[]>`
    select * from lab.task
    where site = ${site} and machine = ${machine} and state = 'running' and not inner_work limit 1`
  return row
}

/** Tasks whose time has come, oldest first. */
export const dueTasks = async (db: Queryable, now: number): Promise<Task[]> =>
  await db<Task[]>`
    select * from lab.task where state = 'running' and due_at <= ${toDate(now)}
    order by due_at, n limit 200`

/** Whether it is still to be done, held until the transaction ends. */
export const takeTask = async (change: Change, id: string): Promise<Task | undefined> => {
  const [row] = await change.tx<Task[]>`
    select * from lab.task where id = ${id} and state = 'running' for update`
  return row
}

export const endTask = async (
  db: Queryable,
  id: string,
  end: { result: string | null; error: WireError | null; early?: Date },
): Promise<void> => {
  await db`
    update lab.task set state = ${end.error ? 'failed' : 'succeeded'}, result = ${end.result},
      due_at = coalesce(${end.early ?? null}, due_at),
      error = ${end.error ? db.json(end.error as never) : null}
    where id = ${id}`
}

export const taskAnswer = (task: Task, now: number): WireTask => {
  const span = task.dueAt.getTime() - task.createdAt.getTime()
  const gone = now - task.createdAt.getTime()
  const move = task.kind === 'move' ? moveProgress(task, now) : null
  return {
    id: task.id,
    name: task.name ?? '',
    kind: task.kind,
    machine: task.machine,
    state: task.state,
    percent:
      task.state !== 'running'
        ? 100
        : (move?.percent ?? Math.max(0, Math.min(99, Math.floor((gone / (span || 1)) * 100)))),
    result: task.result,
    error: task.error,
    move: move?.view ?? null,
  }
}
