import type { Queryable } from '../client.ts'

export interface DueJob {
  readonly id: string
  readonly kind: string
  readonly generation: number
  readonly publish: number
  readonly priority: number
}

export interface KindWindow {
  readonly kind: string
  /** How many bells of the kind may be out at once. */
  readonly window: number
}

/**
 * What to ring next, per kind as far as its window has room. Order: priority, then deadline, then lanes in
 * turn, a lane with many bells out coming later. The lanes are found by hopping over the index `job_due`, and
 * each gives only its share of the room, so the cost follows the lanes and the room, not the backlog: the inner
 * `order by` is the index's own, to the letter, or each look would sort the whole lane.
 *
 * The hop asks for a range of kinds that holds one kind, and orders by kind and lane: with an equality the planner
 * takes the index on `lane` alone and walks over every ended job of the lane.
 */
export const findDueJobs = async (db: Queryable, windows: readonly KindWindow[]): Promise<DueJob[]> => db<
  DueJob[]
>`
  with recursive rung as materialized (
    select kind, lane, count(*)::int as bells from job where state = 'ready' and bell = 'rung' group by kind, lane
  ), room as materialized (
    select w.kind, w.room - coalesce((select sum(bells) from rung where rung.kind = w.kind), 0)::int as room
    from unnest(${windows.map((w) => w.kind)}::text[], ${windows.map((w) => w.window)}::int[]) as w(kind, room)
  ), lane as (
    (select r.kind, first.lane from room r, lateral (
      select j.lane from job j where j.state = 'ready' and j.bell = 'due' and j.kind >= r.kind and j.kind <= r.kind
      order by j.kind, j.lane limit 1) first where r.room > 0)
    union all
    select l.kind, next.lane from lane l, lateral (
      select j.lane from job j
      where j.state = 'ready' and j.bell = 'due' and (j.kind, j.lane) > (l.kind, l.lane) and j.kind <= l.kind
      order by j.kind, j.lane limit 1) next
  ), open_lane as (
    select l.kind, l.lane, r.room, count(*) over (partition by l.kind) as lanes,
      coalesce((select bells from rung where rung.kind = l.kind and rung.lane = l.lane), 0) as bells
    from lane l join room r using (kind)
    where not exists (
      select from pause p where (p.scope = 'kind' and p.name = l.kind) or (p.scope = 'lane' and p.name = l.lane))
  ), candidate as (
    select l.kind, l.room, l.lane, j.id, j.generation, j.publish, j.priority, j.deadline,
      l.bells + row_number() over (partition by l.kind, l.lane order by j.priority desc, j.deadline, j.id) as turn
    from open_lane l, lateral (
      select id, generation, publish, priority, deadline from job
      where state = 'ready' and bell = 'due' and kind = l.kind and lane = l.lane
      order by priority desc nulls last, id limit l.room / l.lanes + 1 + 256 / (l.lanes * l.lanes)) j
    union all
    -- A cancelled job with something left outside runs only to undo it: no pause may keep it from that.
    select j.kind, r.room, j.lane, j.id, j.generation, j.publish, 100::smallint, j.deadline, 0
    from job j join room r using (kind)
    where j.cancel_requested_at is not null and j.finished_at is null and j.state = 'ready' and j.bell = 'due'
      and exists (
        select from pause p where (p.scope = 'kind' and p.name = j.kind) or (p.scope = 'lane' and p.name = j.lane))
  ), ranked as (
    select *, row_number() over (partition by kind order by priority desc, deadline, turn, lane) as place
    from candidate
  )
  select id, kind, generation, publish, priority from ranked where place <= room order by kind, place`
