import { createCipheriv, createHash } from 'node:crypto'
import { z } from 'zod'
import { wireLimits } from '../../platforms/lab/wire-limits.ts'

export const blockBytes = wireLimits.blockBytes

/**
 * What a guest is, written in the first block of its boot disk. Whoever copies the disk copies the guest: the
 * machine with the copy boots as the same guest, and one whose first block is missing or torn does not boot.
 */
export const bootRecord = z.object({
  hostname: z.string(),
  os: z.string(),
  agent: z.enum(['running', 'not-running', 'not-installed']),
  /** By card, in order. */
  addresses: z.array(z.array(z.string())),
  ports: z.array(z.number().int()),
  boot_ms: z.number().nonnegative(),
  shutdown_ms: z.number().nonnegative(),
  /** What it does when it is asked to go down. */
  shutdown: z.enum(['obeys', 'hangs']),
  /** A running guest that writes: a ring of `blocks` blocks on the boot disk, one every `every_ms`. */
  writes: z
    .object({ blocks: z.number().int().min(1).max(256), every_ms: z.number().int().min(1) })
    .nullable(),
})
export type BootRecord = z.infer<typeof bootRecord>

/** Where a disk holds data before anybody wrote to it, and of what sort. Everything else is zeros. */
export const diskProfile = z.object({
  data: z.array(z.tuple([z.number().int().nonnegative(), z.number().int().positive()])).max(1_024),
  /** How many of 100 blocks are noise; the others compress well. */
  random: z.number().min(0).max(100),
  boot: bootRecord.nullable(),
})
export type DiskProfile = z.infer<typeof diskProfile>

const bootMark = 'DROVER LAB GUEST\n'

export const isData = (profile: DiskProfile, block: number): boolean => {
  const at = block * blockBytes
  return profile.data.some(([offset, length]) => at >= offset && at < offset + length)
}

/** The bytes of a block that nobody wrote: the same for the same seed, on any machine; null is zeros. */
export const originalBlock = (disk: { seed: number; profile: DiskProfile }, block: number): Buffer | null => {
  if (block === 0 && disk.profile.boot) return bootBlock(disk.profile.boot)
  if (!isData(disk.profile, block)) return null
  const dice = createHash('md5').update(`${disk.seed}:${block}`).digest()
  if (dice.readUInt32BE(0) % 100 < disk.profile.random) return noise(`${disk.seed}`, block)
  return Buffer.alloc(blockBytes, `block ${block} of disk ${disk.seed} says ${dice.toString('hex')}\n`)
}

/** Bytes that no compressor makes smaller. */
export const noise = (seed: string, block: number): Buffer => {
  const key = createHash('md5').update(seed).digest()
  const start = Buffer.alloc(16)
  start.writeBigUInt64BE(BigInt(block))
  return createCipheriv('aes-128-ctr', key, start).update(Buffer.alloc(blockBytes))
}

const bootBlock = (record: BootRecord): Buffer => {
  const block = Buffer.alloc(blockBytes)
  block.write(`${bootMark}${JSON.stringify(record)}\0`)
  return block
}

/** The guest on a disk, from its first block; null when nothing there boots. */
export const readBootRecord = (block: Buffer | null): BootRecord | null => {
  if (!block?.subarray(0, bootMark.length).equals(Buffer.from(bootMark))) return null
  const end = block.indexOf(0)
  try {
    const parsed = bootRecord.safeParse(
      JSON.parse(block.toString('utf8', bootMark.length, end === -1 ? undefined : end)),
    )
    return parsed.success ? parsed.data : null
  } catch {
    return null
  }
}

/** Bytes that a fresh disk of this profile takes on its storage. */
export const dataBytes = (profile: DiskProfile): number =>
  profile.data.reduce((sum, [, length]) => sum + length, 0)
