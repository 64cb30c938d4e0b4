import type { Queryable } from '../../client.ts'
import type { pause } from '../../schema/fleet.ts'

export type PauseLine = Omit<typeof pause.$inferSelect, 'scope'> & {
  readonly scope: 'kind' | 'lane'
  /** The lane of a stopped batch, resumed together with the batch. */
  readonly ofStopped: boolean
  /** How many of its jobs still run; 0: drained. */
  readonly running: number
}

/** The pauses, and how many of their jobs still run. */
export const listPauses = async (
  db: Queryable,
  only?: { scope: string; name: string },
): Promise<PauseLine[]> => db<PauseLine[]>`
  select p.scope, p.name, p.reason, p.paused_by, p.paused_at,
    p.scope = 'lane' and exists (select 1 from batch b where 'batch/' || b.name = p.name and b.state = 'stopped') as of_stopped,
    (select count(*)::int from job j where j.lease_until is not null
       and ((p.scope = 'kind' and j.kind = p.name) or (p.scope = 'lane' and j.lane = p.name))) as running
  from pause p
  where ${only === undefined ? db`true` : db`p.scope = ${only.scope} and p.name = ${only.name}`}
  order by p.paused_at desc, p.scope, p.name`
