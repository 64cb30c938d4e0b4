import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openOva } from '../../../src/disks/open-ova.ts'
import { collected, formats, inPieces, type OvaDiskMade, ovaOf, readOva } from '../../support/ova/ova.ts'
import { qcow2 } from '../../support/ova/qcow2.ts'
import { monolithicSparse, streamOptimized } from '../../support/ova/vmdk.ts'

const sector = 512

/** Runs of zeros, of one byte, and of bytes that do not pack. */
const contents = fc
  .array(
    fc.tuple(fc.integer({ min: 1, max: 40 }), fc.constantFrom('zeros', 'same', 'random'), fc.integer()),
    {
      minLength: 1,
      maxLength: 12,
    },
  )
  .map((runs) =>
    Buffer.concat(
      runs.map(([sectors, kind, seed]) => {
        const bytes = Buffer.alloc(sectors * sector, kind === 'same' ? seed & 0xff : 0)
        let state = seed | 1
        if (kind === 'random')
          for (let at = 0; at < bytes.length; at += 4) {
            state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 1
            bytes.writeInt32LE(state, at)
          }
        return bytes
      }),
    ),
  )

const grain = 8
type Made = Pick<OvaDiskMade, 'bytes'> & Partial<OvaDiskMade>
const writers: Readonly<Record<string, (content: Buffer) => Made>> = {
  'streamOptimized, footer last': (content) => ({ bytes: streamOptimized(content, { grain }) }),
  'streamOptimized, tables first': (content) => ({
    bytes: streamOptimized(content, { grain, tablesFirst: true }),
  }),
  'streamOptimized, packed again': (content) => ({ bytes: streamOptimized(content, { grain }), gzip: true }),
  'streamOptimized in pieces': (content) => ({
    bytes: streamOptimized(content, { grain }),
    chunkBytes: 3_000,
  }),
  'streamOptimized under the number of a snapshot': (content) => ({
    bytes: streamOptimized(content, { grain }),
    storedAs: 'd0.vmdk.000000002',
  }),
  'monolithic sparse': (content) => ({
    bytes: monolithicSparse(content, { grain }),
    format: formats.sparse,
  }),
  flat: (content) => ({ bytes: content, format: formats.flat }),
  'raw, packed': (content) => ({ bytes: content, format: 'raw', gzip: true }),
  'raw with the header of another format': (content) => ({
    bytes: Buffer.concat([Buffer.from('QFI\xfb', 'latin1'), content.subarray(4)]),
    format: 'raw',
  }),
  'qcow2, version 2': (content) => ({
    bytes: qcow2(content, { version: 2, clusterBits: 12 }),
    format: formats.qcow2,
  }),
  'qcow2, version 3': (content) => ({ bytes: qcow2(content, { clusterBits: 9 }), format: formats.qcow2 }),
  'qcow2, compressed': (content) => ({
    bytes: qcow2(content, { clusterBits: 12, compressed: true }),
    format: formats.qcow2,
  }),
  'qcow2, tables first': (content) => ({
    bytes: qcow2(content, { clusterBits: 9, tablesFirst: true }),
    format: formats.qcow2,
  }),
}

test.each(Object.keys(writers))('a disk that is %s comes out bit for bit', async (name) => {
  const write = writers[name] as (content: Buffer) => Made
  await fc.assert(
    fc.asyncProperty(
      contents,
      fc.integer({ min: 1, max: 9_000 }),
      fc.constantFrom('sha1', 'sha256', 'sha512', null),
      fc.boolean(),
      async (content, pieceBytes, manifest, manifestLast) => {
        const disk = { id: 'd0', capacity: content.length, ...write(content) }
        const bytes = ovaOf({ disks: [disk], manifest, manifestLast })
        const expected = disk.format === 'raw' && !disk.gzip ? disk.bytes : content
        const { disks, end } = await readOva(bytes, 'raw', { pieceBytes })
        expect(disks[0]?.equals(expected)).toBe(true)
        expect(end.sizeBytes).toBe(bytes.length)
        expect(end.verified).toBe(manifest === null ? 'none' : 'manifest')
      },
    ),
    { numRuns: 25 },
  )
})

test.each(['footer last', 'tables first'])('a VMDK with its %s is passed on as it is', async (layout) => {
  await fc.assert(
    fc.asyncProperty(contents, fc.integer({ min: 1, max: 9_000 }), async (content, pieceBytes) => {
      const bytes = streamOptimized(content, { grain, tablesFirst: layout === 'tables first' })
      const ova = ovaOf({ disks: [{ id: 'd0', capacity: content.length, bytes }] })
      const { disks } = await readOva(ova, 'vmdk-stream', { pieceBytes })
      expect(disks[0]?.equals(bytes)).toBe(true)
    }),
    { numRuns: 25 },
  )
})

const three = ['a', 'b', 'c'].map((id, index) => {
  const content = Buffer.alloc(20_480 * (index + 1), index + 1)
  return { id, content, capacity: content.length, bytes: streamOptimized(content, { grain }) }
})

test('several disks come out in their order, and an earlier disk may be left out', async () => {
  const bytes = ovaOf({ disks: three })
  const { disks } = await readOva(bytes)
  expect(disks.map((disk, index) => disk.equals(three[index]?.content as Buffer))).toEqual([true, true, true])
  const ova = await openOva(inPieces(bytes))
  const last = await collected(await (ova.disks[2] as (typeof ova.disks)[0]).open('raw'))
  expect(last.equals(three[2]?.content as Buffer)).toBe(true)
  expect((await ova.finish()).verified).toBe('manifest')
})

test('the capacity in the header of a disk beats the descriptor, also that of a later disk', async () => {
  const wrong = three.map((disk) => ({ ...disk, capacity: disk.bytes.length }))
  const bytes = ovaOf({ disks: wrong.slice(0, 2) })
  const ova = await openOva(inPieces(bytes))
  expect(ova.disks[0]?.capacity).toBe(three[0]?.content.length)
  const thrown = await readOva(bytes).catch((error: unknown) => error)
  expect(thrown).toMatchObject({
    code: 'image-capacity-differs',
    detail: { disk: 'b', capacity: three[1]?.content.length },
  })
  const capacities = { b: three[1]?.content.length as number }
  expect((await readOva(bytes, 'raw', { capacities })).capacities).toEqual([20_480, 40_960])
})
