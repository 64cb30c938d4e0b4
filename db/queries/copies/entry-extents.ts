import type { Queryable, Tx } from '../../client.ts'

export interface ExtentDigest {
  readonly at: number
  readonly digest: Buffer
}

/** Records what was written to the target. The caller has proved its lease in the same transaction. */
export const recordExtents = async (
  tx: Tx,
  written: {
    readonly entryId: string
    readonly disk: string
    readonly cycle: number
    readonly extents: readonly ExtentDigest[]
  },
): Promise<void> => {
  await tx`
    insert into entry_extent (entry_id, disk, at, digest, cycle)
    select ${written.entryId}::uuid, ${written.disk}, at, decode(digest, 'hex'), ${written.cycle}
    from unnest(${written.extents.map(({ at }) => at)}::int[],
      ${written.extents.map(({ digest }) => digest.toString('hex'))}::text[]) as given (at, digest)
    on conflict (entry_id, disk, at) do update set digest = excluded.digest, cycle = excluded.cycle`
}

const page = 20_000

/** The recorded extents of a disk in these cycles, in order and page by page. */
export async function* recordedExtents(
  db: Queryable,
  asked: {
    readonly entryId: string
    readonly disk: string
    readonly fromCycle: number
    readonly toCycle: number
  },
): AsyncGenerator<readonly number[], void> {
  for (let after = -1; ; ) {
    const rows = await db<{ at: number }[]>`
      select at from entry_extent where entry_id = ${asked.entryId}::uuid and disk = ${asked.disk} and at > ${after}
        and cycle between ${asked.fromCycle} and ${asked.toCycle}
      order by at limit ${page}`
    if (rows.length > 0) yield rows.map(({ at }) => at)
    const last = rows.at(-1)
    if (!last || rows.length < page) return
    after = last.at
  }
}
