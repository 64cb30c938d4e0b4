import type { Queryable } from '../../client.ts'

export interface ReadyFacts {
  readonly pauses: {
    scope: 'kind' | 'lane'
    name: string
    reason: string
    pausedBy: string
    pausedAt: Date
  }[]
  /** Living workers that serve the kind, and how many of those can read this payload version. */
  readonly serving: number
  readonly able: number
  readonly slots: number
  readonly running: number
  /** Those in its lane. */
  readonly inLane: number
}

/** What keeps a ready job from starting. One statement, so that the facts fit together. */
export const explainReadyJob = async (
  db: Queryable,
  job: { kind: string; lane: string; payloadVersion: number },
  silentMs: number,
): Promise<ReadyFacts> => {
  const [facts] = await db<Omit<ReadyFacts, 'pauses'>[]>`
    select count(*) filter (where w.kinds ? ${job.kind})::int as serving,
      count(*) filter (where (w.kinds->>${job.kind})::int >= ${job.payloadVersion})::int as able,
      coalesce(sum((w.slots->>${job.kind})::int), 0)::int as slots,
      (select count(*)::int from job where kind = ${job.kind} and lease_until is not null) as running,
      (select count(*)::int from job where kind = ${job.kind} and lane = ${job.lane} and lease_until is not null) as in_lane
    from worker w
    where w.role = 'worker' and w.state = 'active'
      and w.heartbeat_at > now() - ${silentMs}::float8 * interval '1 millisecond'`
  const pauses = await db<ReadyFacts['pauses']>`
    select scope, name, reason, paused_by, paused_at from pause
    where (scope = 'kind' and name = ${job.kind}) or (scope = 'lane' and name = ${job.lane}) order by scope`
  return { serving: 0, able: 0, slots: 0, running: 0, inLane: 0, ...facts, pauses: [...pauses] }
}
