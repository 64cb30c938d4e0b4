import type { Queryable } from '../../client.ts'
import type { ExtentDigest } from './entry-extents.ts'

const page = 4_000

/** The digests of a disk's extents in order, page by page; `from`: the first requested extent. */
export async function* recordedDigests(
  db: Queryable,
  asked: { readonly entryId: string; readonly disk: string; readonly from?: number },
): AsyncGenerator<readonly ExtentDigest[], void> {
  for (let after = (asked.from ?? 0) - 1; ; ) {
    const rows = await db<ExtentDigest[]>`
      select at, digest from entry_extent
      where entry_id = ${asked.entryId}::uuid and disk = ${asked.disk} and at > ${after} order by at limit ${page}`
    if (rows.length > 0) yield rows
    const last = rows.at(-1)
    if (!last || rows.length < page) return
    after = last.at
  }
}
