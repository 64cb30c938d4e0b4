import type { Queryable } from '../../client.ts'

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
  /** For kinds whose lanes leave slots free: how many the living workers run at once; null: other kinds. */
  readonly slots: number | null
}

export interface FindDue {
  readonly windows: readonly KindWindow[]
  /** How long a worker may be silent before its jobs no longer count as taking slots. */
  readonly silentMs: number
}

/**
 * What to ring next, per kind as far as its window has room. Order: priority, then deadline, then lanes in turn, lanes
 * with many bells out last. The lanes are found by hopping over the index `job_due`, and each gives only its share of
 * the room, so the cost follows the lanes and the room, not the backlog: the inner `order by` is exactly that of the
 * index, or each look would sort the whole lane.
 *
 * The hop asks for a range of kinds that holds one kind, and orders by kind and lane: with an equality the planner
 * takes the index on `lane` alone and walks over every ended job of the lane.
 *
 * For a kind with `slots`, a lane has no more jobs out (rung and running) than it leaves free, but always its first
 * while there is a slot at all. So other lanes find room whatever one lane depends on: with n stalled lanes, one part
 * of n + 1.
 */
export const findDueJobs = async (db: Queryable, { windows, silentMs }: FindDue): Promise<DueJob[]> => db<
  DueJob[]
>`
  with recursive rung as materialized (
    select kind, lane, count(*)::int as bells from job where state = 'ready' and bell = 'rung' group by kind, lane
  ), busy as materialized (
    select j.kind, j.lane, count(*)::int as jobs from job j join worker w on w.id = j.worker_id
    where j.lease_until is not null and j.state = 'running'
      and j.kind = any(${windows.filter((w) => w.slots !== null).map((w) => w.kind)}::text[])
      and w.state = 'active' and w.heartbeat_at > now() - ${silentMs}::float8 * interval '1 millisecond'
    group by j.kind, j.lane
  ), room as materialized (
    select w.kind, w.room - coalesce(rung.bells, 0) as room,
      w.slots - coalesce(rung.bells, 0) - coalesce(busy.jobs, 0) as free
    from unnest(${windows.map((w) => w.kind)}::text[], ${windows.map((w) => w.window)}::int[],
        ${windows.map((w) => w.slots)}::int[]) as w(kind, room, slots)
      left join (select kind, sum(bells)::int as bells from rung group by kind) rung using (kind)
      left join (select kind, sum(jobs)::int as jobs from busy group by kind) busy using (kind)
  ), lane as (
    (select r.kind, first.lane from room r, lateral (
      select j.lane from job j where j.state = 'ready' and j.bell = 'due' and j.kind >= r.kind and j.kind <= r.kind
      order by j.kind, j.lane limit 1) first where r.room > 0 and coalesce(r.free, 1) > 0)
    union all
    select l.kind, next.lane from lane l, lateral (
      select j.lane from job j
      where j.state = 'ready' and j.bell = 'due' and (j.kind, j.lane) > (l.kind, l.lane) and j.kind <= l.kind
      order by j.kind, j.lane limit 1) next
  ), open_lane as (
    select l.kind, l.lane, r.room, r.free, count(*) over (partition by l.kind) as lanes,
      coalesce((select bells from rung where rung.kind = l.kind and rung.lane = l.lane), 0)
        + coalesce((select jobs from busy where busy.kind = l.kind and busy.lane = l.lane), 0) as bells
    from lane l join room r using (kind)
    where not exists (
      select from pause p where (p.scope = 'kind' and p.name = l.kind) or (p.scope = 'lane' and p.name = l.lane))
  ), candidate as (
    select l.kind, l.room, l.free, l.lane, j.id, j.generation, j.publish, j.priority, j.deadline, l.bells,
      l.bells + row_number() over (partition by l.kind, l.lane order by j.priority desc, j.deadline, j.id) as turn
    from open_lane l, lateral (
      select id, generation, publish, priority, deadline from job
      where state = 'ready' and bell = 'due' and kind = l.kind and lane = l.lane
      order by priority desc nulls last, id limit l.room / l.lanes + 1 + 256 / (l.lanes * l.lanes)) j
    union all
    -- A cancelled job with something left outside runs only to undo it: no pause may keep it from that.
    select j.kind, r.room, null, j.lane, j.id, j.generation, j.publish, 100::smallint, j.deadline, 0, 0
    from job j join room r using (kind)
    where j.cancel_requested_at is not null and j.finished_at is null and j.state = 'ready' and j.bell = 'due'
      and exists (
        select from pause p where (p.scope = 'kind' and p.name = j.kind) or (p.scope = 'lane' and p.name = j.lane))
  ), ranked as (
    select *, row_number() over (partition by kind order by priority desc, deadline, turn, lane) as place
    from candidate
    -- Those of its own lane alone would leave too little: they are not to stand before other lanes in this look either.
    where free is null or turn = 1 or turn + turn - bells <= free
  )
  select id, kind, generation, publish, priority from ranked
  where place <= room and (free is null or turn + place <= free or (turn = 1 and place <= free))
  order by kind, place`
