import type { Queryable, Tx } from '../../../db/client.ts'
import { blockBytes } from '../model/disk-content.ts'

export interface StoredBlock {
  readonly block: number
  /** Null: zeros. */
  readonly bytes: Buffer | null
}

/** The newest version of every written block from `from` up to, not including, `to`. */
export const readBlocks = async (
  db: Queryable,
  path: readonly number[],
  range: { from: number; to: number },
): Promise<ReadonlyMap<number, Buffer | null>> => {
  const rows = await db<StoredBlock[]>`
    select distinct on (b.block) b.block, b.bytes from lab.block b
    where b.layer = any(${path as number[]}::bigint[]) and b.block >= ${range.from} and b.block < ${range.to}
    order by b.block, array_position(${path as number[]}::bigint[], b.layer) desc`
  return new Map(rows.map(({ block, bytes }) => [block, bytes]))
}

/** Which blocks were written, in order, and whether they hold more than zeros; at most `limit`. */
export const writtenBlocks = async (
  db: Queryable,
  path: readonly number[],
  page: { from: number; limit: number },
): Promise<readonly { block: number; zero: boolean }[]> =>
  await db<{ block: number; zero: boolean }[]>`
    select distinct on (b.block) b.block, b.bytes is null as zero from lab.block b
    where b.layer = any(${path as number[]}::bigint[]) and b.block >= ${page.from}
    order by b.block, array_position(${path as number[]}::bigint[], b.layer) desc
    limit ${page.limit}`

/** Runs of blocks that were written after that epoch. */
export const runsSince = async (
  db: Queryable,
  path: readonly number[],
  epoch: number,
): Promise<readonly { from: number; to: number }[]> =>
  await db<{ from: number; to: number }[]>`
    select min(block)::bigint as "from", max(block)::bigint + 1 as "to" from (
      select block, block - row_number() over (order by block) as run from (
        select distinct block from lab.block
        where layer = any(${path as number[]}::bigint[]) and epoch > ${epoch}) changed
    ) numbered group by run order by 1`

const zeros = Buffer.alloc(blockBytes)

/** Writes whole blocks: `bytes` is them all, one after another, from `first` on. */
export const writeBlocks = async (
  tx: Tx,
  where: { layer: number; epoch: number; first: number },
  bytes: Buffer,
): Promise<void> => {
  const count = bytes.length / blockBytes
  const zero = Array.from({ length: count }, (_, index) =>
    Number(bytes.subarray(index * blockBytes, (index + 1) * blockBytes).equals(zeros)),
  )
  await tx`
    insert into lab.block (layer, block, epoch, bytes)
    select ${where.layer}, ${where.first}::bigint + i, ${where.epoch},
      case when (${zero}::int[])[i + 1] = 1 then null
      else substring(${bytes}::bytea from (i * ${blockBytes} + 1)::int for ${blockBytes}::int) end
    from generate_series(0, ${count - 1}::int) i
    on conflict (layer, block) do update set epoch = excluded.epoch, bytes = excluded.bytes`
}

/** Which blocks of a range were written. */
export const knownBlocks = async (
  db: Queryable,
  path: readonly number[],
  range: { from: number; to: number },
): Promise<ReadonlySet<number>> => {
  const rows = await db<{ block: number }[]>`
    select block from lab.block where layer = any(${path as number[]}::bigint[])
      and block >= ${range.from} and block < ${range.to}`
  return new Set(rows.map(({ block }) => block))
}
