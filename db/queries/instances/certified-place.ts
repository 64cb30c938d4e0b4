import type { Queryable } from '../../client.ts'

/**
 * A condition: the site `t` is where the certificate `c` says that its machine is. The name alone proves that only for
 * a site that was registered then; a later site may be another platform, until the machine is seen there.
 */
export const isCertifiedPlace = (db: Queryable) => db`(
  t.role = 'target' and t.name = c.document -> 'target' ->> 'name' and (t.created_at <= c.created_at or exists (
    select from machine r where r.target_id = t.id and r.ref = c.document -> 'target' ->> 'machine'
      and r.uuid <> '' and r.uuid = c.document -> 'instance' ->> 'uuid')))`
