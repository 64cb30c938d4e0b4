import type { Tx } from '../../client.ts'

/** Makes entries due whose source is off and that come from a site or go there: what they wait for has changed. */
export const lookAtDown = async (tx: Tx, siteId: string): Promise<void> => {
  await tx`
    update entry set look_at = now()
    where source_stopped_at is not null and state <> 'finished'
      and (source_id = ${siteId}::uuid or target_id = ${siteId}::uuid)`
}
