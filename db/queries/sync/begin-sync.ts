import type { Tx } from '../../client.ts'

/** The running job of another sync of the site, if any. */
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
 * From here on only this job writes to the site, and what an earlier try has staged is void. Returns the time:
 * everything read is at least as new.
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
