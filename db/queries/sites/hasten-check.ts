import type { Tx } from '../../client.ts'

/**
 * Makes the check of a site's connection due now, if the recorded state matches `well`, and if the last check is at
 * least `seconds` ago.
 */
export const hastenCheck = async (
  tx: Tx,
  siteId: string,
  when: { readonly well: boolean; readonly seconds: number },
): Promise<void> => {
  await tx`
    update site set next_check_at = least(next_check_at, now())
    where id = ${siteId}::uuid and (connectivity = 'ok') = ${when.well}
      and (checked_at is null or checked_at <= now() - ${when.seconds}::float8 * interval '1 second')`
}
