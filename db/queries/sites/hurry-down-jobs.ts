import type { Tx } from '../../client.ts'

/**
 * A site answers again: failed jobs of entries whose source is off are retried at once, without their pause, which may
 * have grown to a quarter of an hour.
 */
export const hurryDownJobs = async (tx: Tx, siteId: string): Promise<void> => {
  await tx`
    update job set run_after = now()
    where state = 'ready' and run_after > now() and error ->> 'class' in ('environment', 'transient')
      and id in (
        select job_id from entry where source_stopped_at is not null and state <> 'finished' and job_id is not null
          and (source_id = ${siteId}::uuid or target_id = ${siteId}::uuid))`
}
