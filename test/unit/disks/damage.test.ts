import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openOva } from '../../../src/disks/open-ova.ts'
import { ImageRefusal } from '../../../src/disks/stream/image-refusal.ts'
import { formats, type OvaMade, ovaOf, readOva } from '../../support/ova/ova.ts'
import { qcow2 } from '../../support/ova/qcow2.ts'
import { monolithicSparse, streamOptimized } from '../../support/ova/vmdk.ts'

const content = Buffer.concat([
  Buffer.from(Array.from({ length: 9_000 }, (_, at) => Math.imul(at, 0x9e3779b9) >>> 24)),
  Buffer.alloc(20_000),
  Buffer.alloc(11_960, 0x41),
])
const grain = 8
const capacity = content.length

const archives: Readonly<Record<string, OvaMade>> = {
  'footer last': { disks: [{ id: 'd0', capacity, bytes: streamOptimized(content, { grain }) }] },
  'tables first': {
    disks: [{ id: 'd0', capacity, bytes: streamOptimized(content, { grain, tablesFirst: true }) }],
  },
  sparse: {
    disks: [{ id: 'd0', capacity, bytes: monolithicSparse(content, { grain }), format: formats.sparse }],
  },
  packed: { disks: [{ id: 'd0', capacity, bytes: streamOptimized(content, { grain }), gzip: true }] },
  qcow2: {
    disks: [
      {
        id: 'd0',
        capacity,
        bytes: qcow2(content, { clusterBits: 9, compressed: true }),
        format: formats.qcow2,
      },
    ],
  },
}

/** True where it was read to the same content, the code where it was refused. Anything else is a defect. */
const outcome = async (bytes: Buffer, as: 'raw' | 'vmdk-stream' = 'raw'): Promise<true | string> => {
  try {
    const { disks } = await readOva(bytes, as)
    return (
      as === 'vmdk-stream' || (disks.length === 1 && disks[0]?.equals(content) === true) || 'other content'
    )
  } catch (error) {
    if (!(error instanceof ImageRefusal)) throw error
    expect(error.remedy).not.toBe('')
    return error.code
  }
}

test.each(Object.keys(archives))('an archive (%s) that is cut off anywhere is refused', async (name) => {
  const bytes = ovaOf({ ...(archives[name] as OvaMade), manifest: null })
  const end = bytes.length - (bytes.length % 10_240 === 0 ? trailingZeros(bytes) : 0)
  const places = Array.from({ length: Math.floor(end / 512) }, (_, block) => block * 512)
  for (const place of places.flatMap((at) => [at, at + 1, at + 511]).filter((at) => at < end))
    expect([place, await outcome(bytes.subarray(0, place))]).not.toEqual([place, true])
})

const trailingZeros = (bytes: Buffer): number => {
  const last = bytes.findLastIndex((byte) => byte !== 0)
  return Math.floor((bytes.length - last - 1) / 512) * 512
}

/** What no check of a format covers, and only a manifest does: plain data has no sum of its own. */
const covers = (name: string, manifest: 'sha256' | null): boolean =>
  manifest !== null || ['footer last', 'tables first', 'packed'].includes(name)

test.each(
  Object.keys(archives).flatMap((name) => [
    [name, 'sha256'] as const,
    ...(covers(name, null) ? [[name, null] as const] : []),
  ]),
)('a flipped bit in an archive (%s, manifest %s) is found or changes nothing', async (name, manifest) => {
  const bytes = ovaOf({ ...(archives[name] as OvaMade), manifest })
  // Nothing but a manifest vouches for the words of the descriptor.
  const from = manifest === null ? bytes.indexOf('</ovf:Envelope>') + 15 : 0
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: from, max: bytes.length - 1 }),
      fc.integer({ min: 0, max: 7 }),
      async (at, bit) => {
        const changed = Buffer.from(bytes)
        changed[at] = (changed[at] as number) ^ (1 << bit)
        const found = await outcome(changed)
        expect([at, bit, found]).not.toEqual([at, bit, 'other content'])
      },
    ),
    { numRuns: 400 },
  )
})

test('any bytes behind a good beginning are read to their end or refused', async () => {
  const whole = ovaOf(archives['footer last'] as OvaMade)
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: whole.length }),
      fc.uint8Array({ maxLength: 3_000 }),
      fc.constantFrom('raw' as const, 'vmdk-stream' as const),
      async (keep, bytes, as) => {
        const found = await outcome(Buffer.concat([whole.subarray(0, keep), bytes]), as)
        expect(found).not.toBe('other content')
      },
    ),
    { numRuns: 200 },
  )
})

test('a source that fails hands on its own error, and the stream of the disk ends with it', async () => {
  const bytes = ovaOf(archives['footer last'] as OvaMade)
  const broken = async function* () {
    yield bytes.subarray(0, bytes.length - 12_000)
    throw new RangeError('the line was cut')
  }
  for (const as of ['raw', 'vmdk-stream'] as const) {
    const read = async () => {
      const ova = await openOva(broken())
      for await (const _ of await (ova.disks[0] as (typeof ova.disks)[0]).open(as));
    }
    await expect(read()).rejects.toThrow('the line was cut')
  }
})
