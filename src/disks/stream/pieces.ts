/** The largest piece that is passed on. */
export const pieceBytes = 256 * 1024

const zeroPiece = Buffer.alloc(pieceBytes)

/** Zeros that share one buffer; readers must not write to them. */
export function* zeros(bytes: number): Generator<Buffer, void> {
  for (let left = bytes; left > 0; left -= pieceBytes)
    yield left >= pieceBytes ? zeroPiece : zeroPiece.subarray(0, left)
}

/**
 * Passes on all pieces; the last piece only after `check` has succeeded, because a receiver of the last piece
 * considers the content complete.
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
