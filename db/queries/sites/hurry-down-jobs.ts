import type { Tx } from '../../client.ts'

/**
 * A site answers again: jobs that had failed with it, and are at entries whose source is off, are tried at once and not
 * when their pause is over, which has grown to a quarter of an hour.
 */
export const hurryDownJobs = async (tx: Tx, siteId: string): Promise<void> => {
  await tx`
    update job set run_after = now()
    where state = 'ready' and run_after > now() and error ->> 'class' in ('environment', 'transient')
      and id in (
        select job_id from entry where source_stopped_at is not null and state <> 'finished' and job_id is not null
          and (source_id = ${siteId}::uuid or target_id = ${siteId}::uuid))`
}
