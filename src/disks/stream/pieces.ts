/** Largest piece that is handed on. */
export const pieceBytes = 256 * 1024

const zeroPiece = Buffer.alloc(pieceBytes)

/** So many zeros, without memory of their own: whoever gets them only reads. */
export function* zeros(bytes: number): Generator<Buffer, void> {
  for (let left = bytes; left > 0; left -= pieceBytes)
    yield left >= pieceBytes ? zeroPiece : zeroPiece.subarray(0, left)
}

/**
 * Hands everything on but the last piece, which waits until `check` has found all in order: whoever gets the end of it
 * may take it for whole.
 */
export async function* endingAfter(
  pieces: AsyncIterable<Buffer>,
  check: () => Promise<void>,
): AsyncGenerator<Buffer, void> {
  let last: Buffer | undefined
  for await (const piece of pieces) {
    if (piece.length === 0) continue
    if (last) yield last
    last = piece
  }
  await check()
  if (last) yield last
}
