import type { Tx } from '../client.ts'

/**
 * Has the connection of a site looked at as soon as somebody comes by, when it is thought to be well (or not), and the
 * last look is so long ago.
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
