import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { openOva } from '../../../src/disks/open-ova.ts'

/**
 * Reads an archive as an import does, and writes its disk to a raw file as a platform would: verified, decoded on the
 * way, zeros left out. Prints the seconds and the largest resident memory.
 */
const [archive = '', out = ''] = process.argv.slice(2)
const zeros = Buffer.alloc(64 * 1024)

const isZero = (bytes: Buffer): boolean => {
  for (let at = 0; at < bytes.length; at += zeros.length) {
    const part = bytes.subarray(at, at + zeros.length)
    if (!part.equals(zeros.subarray(0, part.length))) return false
  }
  return true
}

const began = process.hrtime.bigint()
const cpu = process.cpuUsage()
const ova = await openOva(createReadStream(archive, { highWaterMark: 1024 ** 2 }))
const file = await open(out, 'w')
for (const disk of ova.disks) {
  await file.truncate(disk.capacity)
  let at = 0
  for await (const piece of await disk.open('raw')) {
    const bytes = piece as Buffer
    if (!isZero(bytes)) await file.write(bytes, 0, bytes.length, at)
    at += bytes.length
  }
}
const { verified } = await ova.finish()
await file.close()
const { user, system } = process.cpuUsage(cpu)
process.stdout.write(
  `${JSON.stringify({
    seconds: Number(process.hrtime.bigint() - began) / 1e9,
    cpuSeconds: (user + system) / 1e6,
    rssBytes: process.resourceUsage().maxRSS * 1024,
    verified,
  })}\n`,
)
