import { beginCall, type Call, withinCall } from '../ports/call.ts'
import type { ChangedBlocks, DiskRef, DisksPort, Extent } from '../ports/disks.ts'
import { labAnswerInvalid } from './lab-answer.ts'
import type { LabLink } from './lab-link.ts'
import { labPath } from './lab-path.ts'
import { changedBlocksAnswer, extentsPage } from './protocol.ts'
import { wireLimits } from './wire-limits.ts'

const octets = 'application/octet-stream'

export const labDisks = (link: LabLink): DisksPort => ({
  extents: (call, disk) => readExtents(link, call, disk),
  read: (call, disk, range) =>
    withinCall(call, async (signal) => {
      const pieces: Buffer[] = []
      for (const piece of inPieces(range))
        pieces.push(await readPiece(link, { ...call, signal }, disk, piece))
      return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces)
    }),
  write: (call, disk, offset, bytes) =>
    withinCall(call, async (signal) => {
      for (const piece of inPieces({ offset, length: bytes.length })) {
        const from = piece.offset - offset
        await link.send(
          { ...call, signal },
          {
            method: 'PUT',
            path: bytesPath(disk),
            query: { offset: piece.offset },
            bytes: bytes.subarray(from, from + piece.length),
          },
        )
      }
    }),
  changedBlocks: async (call, disk, changeId): Promise<ChangedBlocks> => {
    const path = labPath`/instances/${disk.machine}/disks/${disk.disk}/changes`
    const query = { snapshot: disk.snapshot, change_id: changeId }
    const answer = await link.ask(call, { method: 'GET', path, query }, changedBlocksAnswer)
    inOrder(answer.extents, 0)
    return { extents: answer.extents, changeId: answer.change_id }
  },
})

const bytesPath = ({ machine, disk }: DiskRef): string => labPath`/instances/${machine}/disks/${disk}/bytes`

async function* readExtents(
  link: LabLink,
  call: Call,
  disk: DiskRef,
): AsyncGenerator<readonly Extent[], void> {
  const path = labPath`/instances/${disk.machine}/disks/${disk.disk}/extents`
  const begun = beginCall(call)
  try {
    for (let offset = 0; ; ) {
      const query = { snapshot: disk.snapshot, offset }
      const page = await link.ask(
        { ...call, signal: begun.signal },
        { method: 'GET', path, query },
        extentsPage,
      )
      inOrder(page.extents, offset)
      if (page.extents.length > 0) yield page.extents
      if (page.next_offset === null) return
      if (page.next_offset <= offset) throw labAnswerInvalid('a page of extents that leads back')
      offset = page.next_offset
    }
  } finally {
    begun.end()
  }
}

const readPiece = async (link: LabLink, call: Call, disk: DiskRef, piece: Extent): Promise<Buffer> => {
  const { body } = await link.send(call, {
    method: 'GET',
    path: bytesPath(disk),
    query: { snapshot: disk.snapshot, offset: piece.offset, length: piece.length },
    accept: octets,
    maxBytes: piece.length,
  })
  if (body.length === piece.length) return body
  throw labAnswerInvalid(`${body.length} bytes where ${piece.length} were asked for`)
}

/** At most what the lab gives or takes at once. */
function* inPieces({ offset, length }: Extent): Generator<Extent> {
  for (let from = offset; from < offset + length; from += wireLimits.rangeBytes)
    yield { offset: from, length: Math.min(wireLimits.rangeBytes, offset + length - from) }
}

const inOrder = (extents: readonly Extent[], from: number): void => {
  let end = from
  for (const extent of extents) {
    if (extent.offset < end || extent.length === 0) throw labAnswerInvalid('extents that are not in order')
    end = extent.offset + extent.length
  }
}
