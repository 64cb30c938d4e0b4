import { type JobEvent, jobTable } from '../src/domain/job/state.ts'
import { requireTransition, sweepOf } from '../src/domain/table/state-table.ts'
import type { Queryable } from './client.ts'

/**
 * A word of a state table in the text of a statement. As a parameter it would hide from the planner that a partial index
 * fits, and the fenced finish of a group would be planned worse. `defineTable` lets plain words in alone.
 */
export const word = (db: Queryable, of: string) => db.unsafe(`'${of}'`)

/** `in ('ready', 'waiting')`: the states that a move may start from. */
export const inStates = (db: Queryable, states: readonly string[]) =>
  db.unsafe(`in (${states.map((state) => `'${state}'`).join(', ')})`)

const sweeps = new Map<JobEvent, ReturnType<typeof madeSweep>>()

/**
 * What the table says of an event of jobs, for a statement that moves every job it finds. Made once: pieces of a statement
 * belong to no connection, and to make them costs more than to claim a job.
 */
export const jobSweep = (db: Queryable, event: JobEvent) => {
  const made = sweeps.get(event) ?? madeSweep(db, event)
  sweeps.set(event, made)
  return made
}

const madeSweep = (db: Queryable, event: JobEvent) => {
  const { from, to } = sweepOf(jobTable, event)
  const [first = to] = from
  const { tells } = requireTransition(jobTable, first, event)
  return { from: inStates(db, from), was: word(db, first), to: word(db, to), tells: word(db, tells) }
}
