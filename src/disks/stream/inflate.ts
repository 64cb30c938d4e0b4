import { pipeline, Readable } from 'node:stream'
import { createGunzip, inflate, inflateRaw } from 'node:zlib'
import { pieceBytes } from './pieces.ts'

/** Enough to keep a few cores busy while the next bytes are read, and little memory. */
const inFlightMost = 8

/**
 * Inflates one stream on Node's thread pool. A result of more than `most` bytes is an error. One byte more of buffer
 * saves a second call of the pool.
 */
export const inflatePiece = (packed: Buffer, how: { most: number; raw?: boolean }): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const options = { maxOutputLength: how.most, chunkSize: Math.max(64, how.most + 1) }
    const run = how.raw ? inflateRaw : inflate
    run(packed, options, (error, bytes) => (error ? reject(error) : resolve(bytes)))
  })

/** A piece of a disk that is still being unpacked. */
export interface PlacedPiece {
  readonly offset: number
  readonly bytes: Promise<Buffer>
}

/** Unpacks a few pieces at a time and yields them in order. */
export async function* inOrder(
  pieces: AsyncIterable<PlacedPiece>,
): AsyncGenerator<{ readonly offset: number; readonly bytes: Buffer }, void> {
  const waiting: PlacedPiece[] = []
  const next = async () => {
    const { offset, bytes } = waiting.shift() as PlacedPiece
    return { offset, bytes: await bytes }
  }
  for await (const piece of pieces) {
    // The error is thrown when the piece is yielded; until then it must not end the process.
    piece.bytes.catch(() => {})
    waiting.push(piece)
    if (waiting.length >= inFlightMost) yield await next()
  }
  while (waiting.length > 0) yield await next()
}

export interface Unpacking {
  /** Raised once the header has given the capacity of the disk. */
  bytesMost: number
  /** The error for a damaged or too long file. */
  readonly refuse: (why: 'damaged' | 'too-long', cause?: unknown) => Error
}

/** Unpacks a gzip file as it is read. A bomb is refused at `bytesMost`. */
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
