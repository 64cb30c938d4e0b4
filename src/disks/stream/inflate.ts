import { pipeline, Readable } from 'node:stream'
import { createGunzip, inflate, inflateRaw } from 'node:zlib'
import { pieceBytes } from './pieces.ts'

/** Enough to keep both cores busy while the next bytes are read, and little to hold. */
const inFlightMost = 8

/**
 * Inflates one stream on Node's pool of threads. It never gives more than `most` bytes: a bomb is an error. One byte more
 * of room spares a second visit of the pool.
 */
export const inflatePiece = (packed: Buffer, how: { most: number; raw?: boolean }): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const options = { maxOutputLength: how.most, chunkSize: Math.max(64, how.most + 1) }
    const run = how.raw ? inflateRaw : inflate
    run(packed, options, (error, bytes) => (error ? reject(error) : resolve(bytes)))
  })

/** A piece of a disk, at its place. */
export interface PlacedPiece {
  readonly offset: number
  readonly bytes: Promise<Buffer>
}

/** Lets a few pieces be made at once, and gives them in order. */
export async function* inOrder(
  pieces: AsyncIterable<PlacedPiece>,
): AsyncGenerator<{ readonly offset: number; readonly bytes: Buffer }, void> {
  const waiting: PlacedPiece[] = []
  const next = async () => {
    const { offset, bytes } = waiting.shift() as PlacedPiece
    return { offset, bytes: await bytes }
  }
  for await (const piece of pieces) {
    // Its error comes out when its turn comes; until then it must not end the process.
    piece.bytes.catch(() => {})
    waiting.push(piece)
    if (waiting.length >= inFlightMost) yield await next()
  }
  while (waiting.length > 0) yield await next()
}

export interface Unpacking {
  /** Grows when the header has told how large the disk is. */
  bytesMost: number
  /** What is thrown where it is damaged, or longer than that. */
  readonly refuse: (why: 'damaged' | 'too-long', cause?: unknown) => Error
}

/** What a gzip file holds, as it is read. A bomb ends where the disk would be full. */
export async function* gunzipped(
  packed: AsyncIterable<Buffer>,
  unpacking: Unpacking,
): AsyncGenerator<Buffer, void> {
  let total = 0
  const gunzip = createGunzip({ chunkSize: pieceBytes })
  pipeline(Readable.from(packed, { objectMode: false }), gunzip, () => {})
  try {
    for await (const piece of gunzip as AsyncIterable<Buffer>) {
      total += piece.length
      if (total > unpacking.bytesMost) throw unpacking.refuse('too-long')
      yield piece
    }
  } catch (error) {
    const isDamage = error instanceof Error && 'code' in error && String(error.code).startsWith('Z_')
    throw isDamage ? unpacking.refuse('damaged', error) : error
  }
}
