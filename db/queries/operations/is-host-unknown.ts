import type { Queryable } from '../../client.ts'

/** Whether a target has hosts and none has this name; false for a target that was never read. */
export const isHostUnknown = async (
  db: Queryable,
  { siteId, host }: { readonly siteId: string; readonly host: string },
): Promise<boolean> => {
  const [row] = await db<{ unknown: boolean }[]>`
    select coalesce(not bool_or(h.name = ${host} or h.ref = ${host}), false) as unknown
    from host h where h.site_id = ${siteId}::uuid and h.gone_at is null`
  return row?.unknown ?? false
}
