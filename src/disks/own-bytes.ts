import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import type { ByteReader } from './stream/byte-reader.ts'
import type { DiskContent } from './stream/disk-content.ts'
import { pieceBytes } from './stream/pieces.ts'

/**
 * The unchanged bytes of a file, while its disk is parsed and checked. `first` has the bytes that were read with the
 * header. Output and check stay within a few pieces of each other.
 */
export async function* ownBytes(
  content: DiskContent,
  reader: ByteReader,
  first: readonly Buffer[],
): AsyncGenerator<Buffer, void> {
  const out = new PassThrough({ highWaterMark: 2 * pieceBytes })
  // The reader gets the error; an error before the first read must not end the process.
  out.on('error', () => {})
  const left = new AbortController()
  reader.onPulled = async (bytes) => {
    if (!out.write(bytes)) await once(out, 'drain', { signal: left.signal })
  }
  const checking = checkPieces(content, reader).then(
    () => out.end(),
    (error: Error) => out.destroy(error),
  )
  try {
    yield* first
    yield* out as AsyncIterable<Buffer>
    await checking
  } finally {
    left.abort()
    out.destroy()
  }
}

const checkPieces = async (content: DiskContent, reader: ByteReader): Promise<void> => {
  for await (const { offset } of content.pieces())
    if (offset >= content.capacity)
      throw reader.refuse('image-disk-too-large', 'The file holds more than its disk has room for.')
}
