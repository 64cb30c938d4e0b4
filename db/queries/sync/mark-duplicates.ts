import { type Owner, whyDuplicate } from '../../../src/domain/inventory/identity.ts'
import type { Tx } from '../../client.ts'
import type { MergeAt } from './merge-instances.ts'

/** The ASCII codes of `DUPL`: two sources that bring the same machine at once must see each other. */
const duplicateLock = 0x4455504c

/** Held until the transaction ends: from here on the instances of other sources do not change. */
export const lockDuplicates = async (tx: Tx): Promise<void> => {
  await tx`select pg_advisory_xact_lock(${duplicateLock}::int, 0)`
}

/**
 * Of live instances with one UUID, over all sources, the first counts and the others are ignored. Reads the site's own
 * instances: all of them after a full reading, otherwise those that changed or are ignored for it. Returns the ids of
 * those whose standing changed.
 */
export const markDuplicates = async (tx: Tx, at: MergeAt, full: boolean): Promise<string[]> => {
  const living = tx`i.site_id = ${at.siteId}::uuid and i.gone_at is null and i.uuid <> ''`
  const mine = full
    ? tx`${living} and (i.ignored is null or i.ignored = 'duplicate-uuid')`
    : tx`${living} and (i.ignored is null or i.ignored = 'duplicate-uuid') and i.revision = ${at.revision}::bigint`
  const ignored = tx`${living} and i.ignored = 'duplicate-uuid'`
  const judged = await tx<(Owner & { id: string; detail: string | null })[]>`
    with mine as (
      select i.id, i.uuid, i.first_seen_at, i.ignored_detail from instance i where ${mine}
      ${full ? tx`` : tx`union select i.id, i.uuid, i.first_seen_at, i.ignored_detail from instance i where ${ignored}`}
    )
    select m.id, m.ignored_detail as detail, owner.* from mine m left join lateral (
      select o.name, o.ref, os.name as source from instance o join site os on os.id = o.site_id
      where o.uuid = m.uuid and o.id <> m.id and o.gone_at is null and os.role = 'source'
        and (o.ignored is null or o.ignored = 'duplicate-uuid')
        and (o.first_seen_at, o.id) < (m.first_seen_at, m.id)
      order by o.first_seen_at, o.id limit 1) owner on true
    where owner.ref is not null or m.ignored_detail is not null`
  const news = judged
    .map((row) => ({ id: row.id, detail: row.detail, why: whyDuplicate(row) }))
    .filter(({ detail, why }) => detail !== why)
  if (news.length === 0) return []
  await tx`
    update instance i set ignored = case when n.why is not null then 'duplicate-uuid' end,
      ignored_detail = n.why, revision = ${at.revision}::bigint, changed_at = now()
    from unnest(${news.map(({ id }) => id)}::uuid[], ${news.map(({ why }) => why)}::text[]) as n(id, why)
    where i.id = n.id`
  return news.map(({ id }) => id)
}
