import type { Tx } from '../../client.ts'

/** The job that syncs the site now, if it is another one and runs. */
export const findOtherSync = async (
  tx: Tx,
  sync: { readonly siteId: string; readonly jobId: string },
): Promise<string | undefined> => {
  const [row] = await tx<{ id: string }[]>`
    select j.id from site s join job j on j.id = s.sync_job_id
    where s.id = ${sync.siteId}::uuid and j.id <> ${sync.jobId}::uuid and j.state = 'running'`
  return row?.id
}

/**
 * From here on the site is this job's to write, and what an earlier try has staged is nobody's. Answers with the moment:
 * what is read is as it was then, or newer.
 */
export const beginSync = async (
  tx: Tx,
  sync: { readonly siteId: string; readonly jobId: string; readonly epoch: number },
): Promise<Date> => {
  const [row] = await tx<{ begunAt: Date }[]>`
    update site set sync_job_id = ${sync.jobId}::uuid where id = ${sync.siteId}::uuid returning now() as begun_at`
  await tx`
    delete from inventory_stage where job_id = ${sync.jobId}::uuid and epoch <> ${sync.epoch}::bigint`
  if (!row) throw new Error(`Site ${sync.siteId} is not there.`)
  return row.begunAt
}
