import { execFile } from 'node:child_process'
import { open, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { formats, ovaOf, readOva } from '../support/ova/ova.ts'
import { streamOptimized } from '../support/ova/vmdk.ts'
import { tempDir } from '../support/temp.ts'

const run = promisify(execFile)

/** Three areas with data in 70 MiB, which needs more than one table in most formats; the last is not full of clusters. */
const mib = 1024 ** 2
const capacity = 70 * mib + 512
const areas = [0, 20 * mib + 4_096, 70 * mib - 300_000]

const makeRaw = async (dir: string): Promise<string> => {
  const path = join(dir, 'disk.raw')
  await run('qemu-img', ['create', '-q', '-f', 'raw', path, String(capacity)])
  const file = await open(path, 'r+')
  for (const [index, at] of areas.entries()) {
    const bytes = Buffer.alloc(300_512)
    for (let word = 0; word < bytes.length; word += 4)
      bytes.writeInt32LE(word % 65_536 < 30_000 ? Math.imul(word + index, 0x9e3779b9) : index, word)
    await file.write(bytes, 0, bytes.length, at)
  }
  await file.close()
  return path
}

const dir = await tempDir('qemu')
const raw = await makeRaw(dir)
const content = await readFile(raw)

const made: readonly (readonly [string, string, readonly string[]])[] = [
  ['a streamOptimized VMDK', formats.stream, ['-O', 'vmdk', '-o', 'subformat=streamOptimized']],
  ['a monolithic sparse VMDK', formats.sparse, ['-O', 'vmdk', '-o', 'subformat=monolithicSparse']],
  ['qcow2', formats.qcow2, ['-O', 'qcow2']],
  ['qcow2 of version 2', formats.qcow2, ['-O', 'qcow2', '-o', 'compat=0.10']],
  ['compressed qcow2', formats.qcow2, ['-O', 'qcow2', '-c']],
  ['qcow2 of small clusters', formats.qcow2, ['-O', 'qcow2', '-o', 'cluster_size=4k']],
  ['qcow2 with its tables made before', formats.qcow2, ['-O', 'qcow2', '-o', 'preallocation=metadata']],
]

test.each(made)('%s of qemu-img is read bit for bit', async (what, format, args) => {
  const path = join(dir, what)
  await run('qemu-img', ['convert', '-q', '-f', 'raw', ...args, raw, path])
  const bytes = ovaOf({ disks: [{ id: 'd0', capacity, bytes: await readFile(path), format }] })
  const { disks } = await readOva(bytes, 'raw', { pieceBytes: 1 << 20 })
  expect(disks[0]?.length).toBe(content.length)
  expect(disks[0]?.equals(content)).toBe(true)
})

test('qemu-img reads the VMDKs of our generator as we do', async () => {
  for (const tablesFirst of [false, true]) {
    const path = join(dir, `ours-${tablesFirst}.vmdk`)
    await writeFile(path, streamOptimized(content, { tablesFirst }))
    const { stdout } = await run('qemu-img', ['compare', '-f', 'vmdk', '-F', 'raw', path, raw])
    expect(stdout).toContain('Images are identical')
  }
})
