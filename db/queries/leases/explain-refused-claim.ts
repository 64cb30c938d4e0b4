import type { Queryable } from '../../client.ts'

export interface RefusedJob {
  readonly id: string
  readonly kind: string
  readonly priority: number
  readonly lane: string
  readonly tokens: string[]
  readonly paused: boolean
  readonly tooNew: boolean
  readonly notDue: boolean
}

/** Why the jobs of some bells could not be claimed. A job that is not listed has another owner, or has ended. */
export const explainRefusedClaim = async (
  db: Queryable,
  asked: readonly { id: string; generation: number; version: number }[],
): Promise<RefusedJob[]> => db<RefusedJob[]>`
  select j.id, j.kind, j.priority, j.lane, j.tokens, j.payload_version > a.version as too_new,
    j.run_after >= now() + interval '1 millisecond' as not_due,
    j.cancel_requested_at is null and exists (
      select from pause p where (p.scope = 'kind' and p.name = j.kind) or (p.scope = 'lane' and p.name = j.lane)
    ) as paused
  from unnest(
    ${asked.map((a) => a.id)}::uuid[], ${asked.map((a) => a.generation)}::int[],
    ${asked.map((a) => a.version)}::smallint[]
  ) as a(id, generation, version)
  join job j on j.id = a.id and j.generation = a.generation and j.state = 'ready'`
