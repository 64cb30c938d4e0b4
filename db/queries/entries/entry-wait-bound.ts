import type { EntryPlace } from '../../../src/domain/migration/entry/entry.ts'
import type { Queryable } from '../../client.ts'

/** The latest end of the wait of an entry's job. */
export interface EntryWaitRow {
  readonly state: EntryPlace['state']
  readonly stage: EntryPlace['stage']
  readonly window: string | null
  readonly windowEndsAt: Date | null
  readonly lookAt: Date
}

/** The entry of a job; undefined: it is no entry's current job. */
export const findEntryWait = async (db: Queryable, jobId: string): Promise<EntryWaitRow | undefined> => {
  const [row] = await db<EntryWaitRow[]>`
    select e.state, e.stage, w.name as window, w.ends_at as window_ends_at, e.look_at
    from entry e left join batch_window w on w.id = e.window_id where e.job_id = ${jobId}::uuid limit 1`
  return row
}
