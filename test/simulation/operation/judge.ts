import type { Db } from '../../../db/client.ts'
import type { CloudTask } from './cloud-things.ts'

const idLength = 36

/** What is wrong with a call that changes something, at the moment it is made: null when nothing is. */
export const judgeCall = (db: Db, name: string): Promise<string | null> =>
  name.slice(idLength).startsWith('/undo/') ? judgeUndo(db, name) : judgeAct(db, name)

/** Whoever acts holds the lease of an operation that is at its machine, or is about to hear otherwise. */
const judgeAct = async (db: Db, name: string): Promise<string | null> => {
  const jobId = name.slice(0, idLength)
  const [row] = await db<{ id: string; kind: string; why: string | null }[]>`
    select o.id, o.kind, case when o.settled_at is not null then 'it was settled'
      when j.state <> 'running' then 'its job was ' || j.state
      when exists (select from operation older where older.machine_id = o.machine_id and older.id <> o.id
        and older.finished_at is not null and older.settled_at is null and older.id < o.id) then 'an older one had not settled'
      end as why
    from operation o join job j on j.id = o.job_id where o.job_id = ${jobId}::uuid`
  if (!row) return `Nobody's ${name} acted`
  return row.why === null ? null : `${row.kind} ${row.id} acted, and ${row.why}`
}

/** Nothing is called off for an operation that has let go: somebody else is at the machine by now. */
const judgeUndo = async (db: Db, name: string): Promise<string | null> => {
  const effectId = name.slice(0, idLength)
  const [row] = await db<{ id: string; kind: string; settled: boolean }[]>`
    select o.id, o.kind, o.settled_at is not null as settled
    from effect e join operation o on o.job_id = e.job_id where e.id = ${effectId}::uuid`
  if (!row) return `Nobody's ${name} was called off`
  return row.settled ? `${row.kind} ${row.id} was called off, and it had settled` : null
}

/** What a platform does that cannot be called off, and that nobody is kept from calling off all the same. */
export const judgeReturns = async (db: Db, tasks: readonly CloudTask[]): Promise<string[]> => {
  const jobs = tasks
    .filter(({ kind, state }) => state === 'running' && endless.includes(kind))
    .map(({ name }) => name.slice(0, idLength))
  if (jobs.length === 0) return []
  const rows = await db<{ what: string }[]>`
    select format('%s %s is under way, and can be given up', kind, id) as what from operation
    where job_id = any(${jobs}::uuid[]) and finished_at is null and not past_return`
  return rows.map(({ what }) => what)
}

const endless: readonly string[] = ['save', 'wake', 'revert']

/** What evacuations have come to once all is at rest, and what no person's word was heard of. */
export const checkEvacuations = async (db: Db, givenUp: readonly string[]): Promise<string[]> => {
  const rows = await db<{ what: string }[]>`
    select format('evacuation: %s %s came back %s times', o.kind, o.id, count(*)) as what
      from operation o join operation again on again.resumes = o.id group by o.id, o.kind having count(*) > 1
    union all select format('evacuation: %s %s came back, and a person had given it up', o.kind, o.id)
      from operation o join operation again on again.resumes = o.id where o.id = any(${givenUp as string[]}::uuid[])
    union all select format('evacuation: %s %s is %s, and is to come back all the same', kind, id, state)
      from operation where come_back_at is not null and state not in ('superseded', 'failed')
    union all select format('evacuation: %s %s is %s and does not come back, and its machine runs on %s', o.kind, o.id,
        o.state, m.host)
      from operation o join machine m on m.id = o.machine_id
      where o.cause = 'evacuation' and o.state in ('superseded', 'failed') and m.power = 'on' and m.host = o.leaves
        and not o.id = any(${givenUp as string[]}::uuid[])
        and not exists (select from operation later where later.machine_id = o.machine_id and later.id > o.id
          and later.cause = 'evacuation')
    union all select format('evacuation: %s %s is completed, and its machine stayed on %s', kind, id, leaves)
      from operation where cause = 'evacuation' and state = 'completed' and result ->> 'to' = leaves`
  return rows.map(({ what }) => what)
}
