import type { SlotGroup, SlotUse } from '../../../src/domain/job/room.ts'
import type { Queryable } from '../../client.ts'

/**
 * How many slots the living workers have for these kinds, and which jobs take them: running jobs, and admitted jobs
 * about to run. Both hold tokens, and only holders are read: the cost follows the slots, not the backlog.
 */
export const readSlotUse = async (
  db: Queryable,
  kinds: readonly string[],
  /** Classes of tokens that name what a job depends on. */
  dependencies: readonly string[],
): Promise<ReadonlyMap<string, SlotUse>> => {
  if (kinds.length === 0) return new Map()
  const [slots, groups] = await Promise.all([
    db<{ kind: string; slots: number }[]>`
      select s.key as kind, sum(s.value::int)::int as slots from worker w, jsonb_each_text(w.slots) s
      where w.role = 'worker' and w.state = 'active' and s.key = any(${kinds as string[]}::text[]) group by s.key`,
    db<(SlotGroup & { kind: string })[]>`
      with holder as (
        select j.kind, j.lane, array_agg(h.token order by h.token collate "C")
          filter (where split_part(h.token, '/', 1) = any(${dependencies as string[]}::text[])) as tokens
        from token_hold h join job j on j.id = h.job_id left join worker w on w.id = j.worker_id
        where j.kind = any(${kinds as string[]}::text[])
          and (j.state = 'ready' or (j.state = 'running' and w.state = 'active'))
        group by j.id
      )
      select kind, array_prepend(lane, tokens) as things, count(*)::int as jobs
      from holder group by kind, lane, tokens`,
  ])
  return new Map(
    kinds.map((kind) => [
      kind,
      {
        slots: slots.find((row) => row.kind === kind)?.slots ?? 0,
        groups: groups
          .filter((row) => row.kind === kind)
          .map(({ things, jobs }) => ({ things: [...things].sort(), jobs })),
      },
    ]),
  )
}
