import { generateKeyPairSync, sign } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { type OvaOptions, openOva } from '../../../src/disks/open-ova.ts'
import { TarReader } from '../../../src/disks/tar/tar-reader.ts'
import {
  formats,
  inPieces,
  type OvaDiskMade,
  ovaFiles,
  ovaOf,
  readOva,
  vmdkDisk,
} from '../../support/ova/ova.ts'
import { type Qcow2Options, qcow2 } from '../../support/ova/qcow2.ts'
import { paxRecord, type TarFile, tarFile, tarHeader, tarOf } from '../../support/ova/tar.ts'
import { monolithicSparse, streamOptimized, type VmdkOptions } from '../../support/ova/vmdk.ts'
import { selfSigned } from '../../support/self-signed.ts'

const content = Buffer.alloc(40_960, 0x41)
const grain = 8
const disk = vmdkDisk('d0', content, { bytes: streamOptimized(content, { grain }) })
const files = ovaFiles({ disks: [disk] })
const good = tarOf(files)

const diskWith = (over: Partial<OvaDiskMade>): Buffer => ovaOf({ disks: [{ ...disk, ...over }] })
const vmdkWith = (over: VmdkOptions): Buffer =>
  diskWith({ bytes: streamOptimized(content, { grain, ...over }) })
const qcow2With = (over: Qcow2Options): Buffer =>
  diskWith({ bytes: qcow2(content, { clusterBits: 9, ...over }), format: formats.qcow2 })
const withFile = (file: TarFile): Buffer => tarOf([...files, file])
const withOvf = (change: (text: string) => string): Buffer => {
  const [descriptor, , ...rest] = files as [TarFile, TarFile, ...TarFile[]]
  return tarOf([{ ...descriptor, bytes: Buffer.from(change(descriptor.bytes.toString())) }, ...rest])
}
const file = (name: string, more: Partial<TarFile> = {}): Buffer =>
  withFile({ name, bytes: Buffer.from('x'), ...more })
const extended = (type: string, records: string): Buffer =>
  Buffer.concat([
    tarFile({ name: 'x', bytes: Buffer.from(records), type }),
    tarHeader({ name: 'y', size: 0 }),
    Buffer.alloc(1_024),
  ])

/** With one byte changed. */
const withByte = (bytes: Buffer, at: number): Buffer => {
  const changed = Buffer.from(bytes)
  changed[at] = (changed[at] as number) ^ 0x55
  return changed
}
const packedDisk = ovaOf({
  disks: [{ id: 'd0', capacity: content.length, bytes: content, gzip: true, format: 'raw' }],
  manifest: null,
})

/** A small disk that says that its data begins far behind, and half a gigabyte of zeros until there. */
const slowBomb = (): Buffer => {
  const bytes = streamOptimized(content, { grain })
  bytes.writeBigUInt64LE(1n << 40n, 64)
  const zeros = gzipSync(Buffer.alloc(1024 ** 2))
  return Buffer.concat([gzipSync(bytes.subarray(0, 65_536)), ...Array.from({ length: 512 }, () => zeros)])
}

const xmlBomb = `<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>`

/** What is refused, and by which code. */
const hostile: readonly [string, string, Buffer, OvaOptions?][] = [
  ['nothing at all', 'image-truncated', Buffer.alloc(0)],
  ['a zip called .ova', 'image-is-zip', Buffer.concat([Buffer.from('PK\x03\x04'), Buffer.alloc(1_000)])],
  ['an archive packed as a whole', 'image-is-packed', gzipSync(good)],
  ['text', 'image-not-tar', Buffer.alloc(2_000, 'text ')],
  ['a damaged header', 'image-header-invalid', withByte(good, good.indexOf('golden.mf'))],
  ['a name that climbs', 'image-entry-name', file('../etc/passwd')],
  ['a name that climbs within', 'image-entry-name', file('a/../../b')],
  ['an absolute name', 'image-entry-name', file('/etc/passwd')],
  ['a name of Windows', 'image-entry-name', file('C:\\boot.ini')],
  ['a climbing name of GNU', 'image-entry-name', file('../x', { nameAs: 'gnu' })],
  ['a climbing name of pax', 'image-entry-name', file('../x', { nameAs: 'pax' })],
  ['a link', 'image-entry-kind', file('l', { type: '1', linkName: '/etc/passwd', bytes: Buffer.alloc(0) })],
  ['a symbolic link', 'image-entry-kind', file('l', { type: '2', linkName: '/', bytes: Buffer.alloc(0) })],
  ['a device', 'image-entry-kind', file('sda', { type: '3', bytes: Buffer.alloc(0) })],
  ['a pipe', 'image-entry-kind', file('pipe', { type: '6', bytes: Buffer.alloc(0) })],
  ['a file with holes', 'image-entry-kind', file('holes', { type: 'S' })],
  ['a kind that nobody knows', 'image-entry-kind', file('odd', { type: 'Z' })],
  ['a link of pax', 'image-entry-kind', extended('x', paxRecord('linkpath', '/etc'))],
  ['one name for all files', 'image-header-invalid', extended('g', paxRecord('path', 'x'))],
  ['damaged fields of pax', 'image-header-invalid', extended('x', '999 path=x\n')],
  ['a negative size', 'image-header-invalid', extended('x', paxRecord('size', '-1'))],
  ['a name of a megabyte', 'image-text-too-large', extended('L', 'a'.repeat(1024 ** 2))],
  ['a name twice', 'image-entry-duplicate', tarOf([...files, files[2] as TarFile])],
  ['the same name in another form', 'image-entry-duplicate', file('./golden.ovf')],
  ['too many entries', 'image-too-many-entries', tarOf([...files, ...many(10_001)])],
  ['bytes behind the end', 'image-trailing-data', Buffer.concat([good, Buffer.from('more')])],
  ['no descriptor', 'image-descriptor-missing', tarOf(files.slice(2))],
  ['two descriptors', 'image-descriptor-several', file('other.ovf')],
  ['two manifests', 'image-manifest-invalid', file('other.mf')],
  ['a descriptor that is no XML', 'image-descriptor-invalid', withOvf(() => '<Envelope>')],
  [
    'a descriptor with entities',
    'image-descriptor-invalid',
    withOvf((text) => text.replace('?>', `?>${xmlBomb}`)),
  ],
  ['a deep descriptor', 'image-descriptor-invalid', withOvf(() => '<a>'.repeat(1_000))],
  ['a long descriptor', 'image-text-too-large', withOvf((text) => text.padEnd(5 * 1024 ** 2))],
  [
    'several machines',
    'image-descriptor-several',
    withOvf((text) =>
      text
        .replaceAll('VirtualSystem ', 'VirtualSystemCollection ')
        .replaceAll('/VirtualSystem>', '/VirtualSystemCollection>'),
    ),
  ],
  [
    'two names of one file',
    'image-descriptor-invalid',
    withOvf((text) => text.replace('<File ', '<File vmw:href="other" ')),
  ],
  [
    'a disk of no machine',
    'image-descriptor-invalid',
    withOvf((text) => text.replace('ovf:/disk/d0', 'ovf:/disk/d1')),
  ],
  ['a file outside', 'image-disk-foreign-file', diskWith({ href: '../../etc/shadow' })],
  ['a file elsewhere', 'image-disk-foreign-file', diskWith({ href: 'http://example.org/disk.vmdk' })],
  ['a file that is not there', 'image-file-missing', tarOf(files.slice(0, 2))],
  ['a file of another size', 'image-file-size', diskWith({ declaredSize: 77 })],
  ['a delta disk', 'image-delta-disk', diskWith({ parentRef: 'd9' })],
  [
    'several states of a disk',
    'image-delta-disk',
    ovaOf({
      disks: [{ ...disk, storedAs: 'd0.vmdk.000000000' }],
      extraFiles: [{ name: 'd0.vmdk.000000001', bytes: disk.bytes }],
    }),
  ],
  ['an unknown format', 'image-format-unknown', diskWith({ format: 'http://example.org/vhdx' })],
  ['qcow2 called VMDK', 'image-format-mismatch', diskWith({ bytes: qcow2(content) })],
  ['VMDK called qcow2', 'image-format-mismatch', diskWith({ format: formats.qcow2 })],
  [
    'a VMDK that is a mere descriptor',
    'image-disk-foreign-file',
    diskWith({ bytes: Buffer.from('# Disk DescriptorFile\nRW 1 FLAT "/etc/shadow" 0\n'.padEnd(512)) }),
  ],
  ['a VMDK that names a host file', 'image-disk-foreign-file', vmdkWith({ extentName: '/etc/shadow' })],
  ['a VMDK with a parent', 'image-delta-disk', vmdkWith({ parentCid: '12345678' })],
  ['a VMDK in several extents', 'image-disk-unsupported', vmdkWith({ kind: 'twoGbMaxExtentSparse' })],
  ['a VMDK larger than it says', 'image-disk-invalid', vmdkWith({ capacity: 8_192 })],
  [
    'a VMDK in no order',
    'image-disk-scattered',
    diskWith({
      bytes: monolithicSparse(Buffer.concat([content, Buffer.alloc(4_096, 1)]), { grain, backwards: true }),
    }),
  ],
  [
    'a raw disk larger than it says',
    'image-disk-too-large',
    ovaOf({ disks: [{ id: 'd0', capacity: 512, bytes: content, format: 'raw' }] }),
  ],
  [
    'a bomb',
    'image-disk-too-large',
    ovaOf({
      disks: [{ id: 'd0', capacity: 512, bytes: Buffer.alloc(4 * 1024 ** 2), gzip: true, format: 'raw' }],
    }),
  ],
  ['a bomb of zeros', 'image-disk-too-large', diskWith({ gzip: true, packed: slowBomb() })],
  [
    'a packed disk that is damaged',
    'image-disk-invalid',
    withByte(packedDisk, packedDisk.indexOf(Buffer.from([0x1f, 0x8b])) + 14),
  ],
  ['a qcow2 file with a base', 'image-delta-disk', qcow2With({ backingFile: true })],
  ['an encrypted qcow2 file', 'image-disk-encrypted', qcow2With({ encryption: 1 })],
  ['a qcow2 file with data elsewhere', 'image-disk-foreign-file', qcow2With({ features: 4n })],
  ['a qcow2 file that is corrupt', 'image-disk-invalid', qcow2With({ features: 2n })],
  ['a qcow2 file of the future', 'image-disk-unsupported', qcow2With({ features: 32n })],
  ['a qcow2 file with its tables last', 'image-disk-scattered', qcow2With({ dataFirst: true })],
  [
    'another hash',
    'image-hash-mismatch',
    tarOf(
      files.map((one) =>
        one.name.endsWith('.mf')
          ? { ...one, bytes: Buffer.from(one.bytes.toString().replace(/[0-9a-f]{8}$/m, '00000000')) }
          : one,
      ),
    ),
  ],
  ['a manifest of nonsense', 'image-manifest-invalid', ovaOf({ disks: [disk], manifestExtra: 'nonsense\n' })],
  [
    'a manifest with an unknown hash',
    'image-manifest-invalid',
    ovaOf({ disks: [disk], manifestExtra: 'MD5(x)= 00\n' }),
  ],
  [
    'no manifest where it is wanted',
    'image-manifest-required',
    ovaOf({ disks: [disk], manifest: null }),
    { requireManifest: true },
  ],
  [
    'a manifest with a gap where it is wanted',
    'image-manifest-required',
    tarOf([...files, { name: 'extra.nvram', bytes: content }]),
    { requireManifest: true },
  ],
  ['another digest', 'image-digest-mismatch', good, { expectedDigest: '0'.repeat(64) }],
  ['a signature of nothing', 'image-signature-invalid', file('golden.cert')],
]

function many(count: number): readonly TarFile[] {
  return Array.from({ length: count }, (_, number) => ({ name: `f${number}`, bytes: Buffer.alloc(0) }))
}

test.each([...hostile])('an archive with %s is refused as %s', async (_what, code, bytes, options = {}) => {
  const refused = await readOva(bytes, 'raw', options).catch((error: unknown) => error)
  expect(refused).toMatchObject({ code, class: 'permanent' })
  expect(refused).toHaveProperty('detail.position')
})

test('the place of what is refused is told', async () => {
  const bytes = file('../x')
  await expect(readOva(bytes)).rejects.toMatchObject({
    detail: { position: bytes.indexOf('../x') },
  })
})

const accepted: readonly (readonly [string, Buffer, string[]])[] = [
  ['files of a Mac', tarOf([...files, { name: '._golden.ovf', bytes: content }]), []],
  ['a first file of a Mac', tarOf([{ name: '._golden.ovf', bytes: content }, ...files]), []],
  [
    'a directory around all',
    tarOf([
      { name: './', bytes: Buffer.alloc(0), type: '5' },
      ...files.map((one) => ({ ...one, name: `./${one.name}` })),
    ]),
    [],
  ],
  [
    'a manifest that names an absent file',
    ovaOf({ disks: [disk], manifestExtra: `SHA1(gone.nvram)= ${'0'.repeat(40)}\n` }),
    ['The manifest names gone.nvram, which is not there.'],
  ],
  ['sizes in base 256', tarOf(files.map((one) => ({ ...one, sizeAs: 'base256' }))), []],
  ['sizes in pax', tarOf(files.map((one) => ({ ...one, sizeAs: 'pax' }))), []],
  ['names in pax', tarOf(files.map((one) => ({ ...one, nameAs: 'pax' }))), []],
  ['names of GNU', tarOf(files.map((one) => ({ ...one, nameAs: 'gnu' }))), []],
]

test.each(accepted)('an archive with %s is read', async (_what, bytes, warnings) => {
  const { disks, end } = await readOva(bytes)
  expect(disks[0]?.equals(content)).toBe(true)
  expect(end).toMatchObject({ verified: 'manifest', warnings })
})

test('a file of 9 GiB has its size in base 256 and in pax', async () => {
  const size = 9 * 1024 ** 3
  const header = tarHeader({ name: 'big', size, base256: true })
  const pax = Buffer.concat([
    tarFile({ name: 'x', type: 'x', bytes: Buffer.from(paxRecord('size', String(size))) }),
    tarHeader({ name: 'big', size: 0 }),
  ])
  for (const bytes of [header, pax])
    expect(await new TarReader(inPieces(bytes)).next()).toMatchObject({ name: 'big', size })
})

test('a signature is checked, and who signed is told', async () => {
  const { key, cert } = selfSigned({ host: 'maker.example' })
  const [, manifest] = files as [TarFile, TarFile]
  const certOf = (privateKey: string, of: Buffer): TarFile => ({
    name: 'golden.cert',
    bytes: Buffer.from(`SHA256(golden.mf)= ${sign('sha256', of, privateKey).toString('hex')}\n${cert}`),
  })
  const signed = withFile(certOf(key, manifest.bytes))
  const { end } = await readOva(signed)
  expect(end).toMatchObject({ verified: 'signature', signer: { fingerprint: expect.any(String) } })
  const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  const others = stranger.export({ type: 'pkcs8', format: 'pem' }).toString()
  for (const wrong of [certOf(key, Buffer.from('other')), certOf(others, manifest.bytes)])
    await expect(readOva(withFile(wrong))).rejects.toMatchObject({ code: 'image-signature-invalid' })
})

test('no more is read than is taken, but for a few pieces', async () => {
  const large = Buffer.alloc(16 * 1024 ** 2, 1)
  const bytes = ovaOf({ disks: [{ id: 'd0', capacity: large.length, bytes: large, format: 'raw' }] })
  let read = 0
  const counted = async function* () {
    for await (const piece of inPieces(bytes)) {
      read += piece.length
      yield piece
    }
  }
  const ova = await openOva(counted())
  const stream = await (ova.disks[0] as (typeof ova.disks)[0]).open('raw')
  let taken = 0
  for await (const piece of stream as AsyncIterable<Buffer>) {
    taken += piece.length
    expect(read - taken).toBeLessThan(2 * 1024 ** 2)
  }
  expect(taken).toBe(large.length)
})

test('the last piece of a disk comes after the last check of the archive', async () => {
  const late = ovaOf({ disks: [disk], manifestLast: true })
  const at = late.indexOf('SHA256(d0.vmdk)') + 20
  late[at] = late[at] === 0x30 ? 0x31 : 0x30
  const ova = await openOva(inPieces(late))
  const stream = await (ova.disks[0] as (typeof ova.disks)[0]).open('raw')
  let taken = 0
  const read = async () => {
    for await (const piece of stream as AsyncIterable<Buffer>) taken += piece.length
  }
  await expect(read()).rejects.toMatchObject({ code: 'image-hash-mismatch' })
  expect(taken).toBeLessThan(content.length)
})
