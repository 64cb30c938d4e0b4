import type { Db } from '../../db/client.ts'
import { insertSeal, nextSealRange } from '../../db/queries/seals/seal-events.ts'
import { sealText } from '../../src/ledger/seals/seal-texts.ts'
import { testSealer, untilReadable } from './events.ts'

/** Seals all that is committed as the version before did it: hashed by the database, in its SQL word for word. */
export const sealAllAsBefore = async (
  db: Db,
  options: { readonly eventsMax?: number; readonly daysAgo?: number } = {},
): Promise<void> => {
  await untilReadable(db)
  for (;;) {
    const range = await nextSealRange(db, options.eventsMax ?? 4)
    if (!range) return
    const [digest] = await db<{ events: number; hash: Buffer }[]>`
      select body.events, sha256(${range.previousHash}::bytea || convert_to(concat_ws('|', 'drover-seal-1',
        ${range.seq}::bigint, ${range.era}::int, ${range.fromXid}::text, ${range.toXid}::text, body.events), 'UTF8')
        || body.digests) as hash
      from (
        select count(*)::int as events, coalesce(string_agg(sha256(convert_to(row(
          era, xid, id, (date_part('epoch', at) * 1000)::bigint, type, subject_type, subject_id, job_id, actor,
          from_state, to_state, reason, detail)::text, 'UTF8')), ''::bytea order by xid, id), ''::bytea) as digests
        from event
        where era = ${range.era} and xid >= ${range.fromXid}::xid8 and xid < ${range.toXid}::xid8) body`
    if (!digest) throw new Error('Postgres did not answer with a digest.')
    const sealedAtMs = Date.now() - (options.daysAgo ?? 0) * 86_400_000
    const sealed = { ...digest, version: 1 }
    const mac = testSealer.mac(sealText(range, sealed, sealedAtMs))
    await insertSeal(db, { ...range, ...sealed, sealedAtMs, mac })
  }
}
