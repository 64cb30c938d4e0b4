import type { Queryable } from '../../client.ts'
import { isCertifiedPlace } from './certified-place.ts'
import { isItself } from './same-place.ts'
import { tellsApart } from './tells-apart.ts'

/**
 * A condition: the instance `i` was migrated, whatever became of its entry. A certified copy exists, or was certified
 * and not seen to disappear. A source that was removed and added again has new records of the same machines: then the
 * UUID in the certificate tells. `offset 0` makes Postgres use an index per instance: without it a page of fifty
 * instances reads and hashes every certificate.
 */
export const isMigrated = (db: Queryable) => db`(
  exists (select from entry me where me.instance_id = i.id and me.state = 'finished' offset 0)
  or exists (
    select from machine m where m.instance_id = i.id and m.origin = 'migrated' and m.gone_at is null offset 0)
  or (${tellsApart(db, db`i.uuid`)} and exists (
    select from machine m where m.uuid = i.uuid and m.uuid <> '' and m.gone_at is null and m.origin = 'migrated'
      and not ${isItself(db, { site: db`i.site_id`, ref: db`i.ref` }, { site: db`m.target_id`, ref: db`m.ref` })} offset 0))
  or exists (select from certificate c where c.instance_id = i.id and not ${isSeenGone(db)} offset 0)
  or (${tellsApart(db, db`i.uuid`)} and exists (
    select from certificate c where c.document -> 'instance' ->> 'uuid' = i.uuid
      and c.document -> 'target' ->> 'machine' <> i.ref and not ${isSeenGone(db)} offset 0)))`

/** A condition: the machine of the certificate `c` was seen to be gone, or to be another machine by now. */
const isSeenGone = (db: Queryable) => db`exists (
  select from machine m join site t on t.id = m.target_id and ${isCertifiedPlace(db)}
  where m.ref = c.document -> 'target' ->> 'machine' and (m.gone_at is not null or m.uuid <> i.uuid))`
