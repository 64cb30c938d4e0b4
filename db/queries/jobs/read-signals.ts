import type { SignalSeen } from '../../../src/domain/operation/admission/conditions.ts'
import type { Queryable } from '../../client.ts'

/** What the effects of these jobs tell about accepted tasks. Pruned jobs are left out. */
export const readSignals = async (
  db: Queryable,
  jobIds: readonly string[],
): Promise<ReadonlyMap<string, SignalSeen>> => {
  if (jobIds.length === 0) return new Map()
  const rows = await db<(SignalSeen & { jobId: string })[]>`
    select j.id as job_id, asked.attempted, asked.accepted_at
    from job j left join lateral (
      select count(*) > 0 as attempted, min(done_at) as accepted_at from effect e where e.job_id = j.id) asked on true
    where j.id = any(${jobIds as string[]}::uuid[])`
  return new Map(rows.map(({ jobId, ...seen }) => [jobId, seen]))
}
