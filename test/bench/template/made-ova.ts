import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ovfOf } from '../../support/ova/ova.ts'
import { padded, tarHeader } from '../../support/ova/tar.ts'

const run = promisify(execFile)
const pieceBytes = 1024 ** 2

/** What a disk holds: noise and zeros by turns, or text that packs well. */
export type Content = 'half-random' | 'compressible'

export interface MadeOva {
  readonly path: string
  readonly capacity: number
  /** Where the disk lies in the archive. */
  readonly disk: { readonly name: string; readonly offset: number; readonly bytes: number }
}

/** An OVA with one streamOptimized disk of qemu-img and a SHA-256 manifest. */
export const makeOva = async (dir: string, content: Content, capacity: number): Promise<MadeOva> => {
  const raw = join(dir, `${content}.raw`)
  const vmdk = join(dir, `${content}.vmdk`)
  await writeRaw(raw, content, capacity)
  await run('qemu-img', [
    'convert',
    '-q',
    '-f',
    'raw',
    '-O',
    'vmdk',
    '-o',
    'subformat=streamOptimized',
    raw,
    vmdk,
  ])
  await rm(raw)
  const { size: bytes } = await stat(vmdk)
  const name = 'disk-1.vmdk'
  const ovf = Buffer.from(
    ovfOf({ disks: [{ id: 'disk-1', bytes: Buffer.alloc(0), capacity, declaredSize: bytes }] }),
  )
  const digest = createHash('sha256')
  for await (const piece of createReadStream(vmdk, { highWaterMark: pieceBytes }))
    digest.update(piece as Buffer)
  const manifest = Buffer.from(
    `SHA256(golden.ovf)= ${createHash('sha256').update(ovf).digest('hex')}\nSHA256(${name})= ${digest.digest('hex')}\n`,
  )
  const path = join(dir, `${content}.ova`)
  const head = Buffer.concat([
    ...[tarHeader({ name: 'golden.ovf', size: ovf.length }), padded(ovf)],
    ...[tarHeader({ name: 'golden.mf', size: manifest.length }), padded(manifest)],
    tarHeader({ name, size: bytes }),
  ])
  const file = await open(path, 'w')
  try {
    await file.write(head)
    for await (const piece of createReadStream(vmdk, { highWaterMark: pieceBytes }))
      await file.write(piece as Buffer)
    await file.write(Buffer.alloc(((512 - (bytes % 512)) % 512) + 1024))
  } finally {
    await file.close()
  }
  await rm(vmdk)
  return { path, capacity, disk: { name, offset: head.length, bytes } }
}

const writeRaw = async (path: string, content: Content, capacity: number): Promise<void> => {
  const file = await open(path, 'w')
  const text = Buffer.alloc(pieceBytes)
  for (let at = 0; at < text.length; at += 64)
    text.write(`line ${at} of a log that says the same again and again\n`, at)
  try {
    await file.truncate(capacity)
    for (let at = 0; at < capacity; at += pieceBytes) {
      if (content === 'half-random' && (at / pieceBytes) % 2 === 1) continue
      await file.write(content === 'half-random' ? randomBytes(pieceBytes) : text, 0, pieceBytes, at)
    }
  } finally {
    await file.close()
  }
}
