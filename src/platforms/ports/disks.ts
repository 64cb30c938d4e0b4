import type { Call } from './call.ts'

export interface Extent {
  readonly offset: number
  readonly length: number
}

/** Which bytes: a disk of a machine as it is, or as a snapshot holds it. */
export interface DiskRef {
  readonly machine: string
  readonly disk: string
  readonly snapshot?: string
}

export interface ChangedBlocks {
  readonly extents: readonly Extent[]
  /** Given with the next query, it answers what changed since now. */
  readonly changeId: string
}

/** The bytes of disks. Everything is by offset, so that a copy can be resumed at any extent. */
export interface DisksPort {
  /** Ranges that may hold data, in order and bounded in number by page; the rest reads as zeros. */
  extents(call: Call, disk: DiskRef): AsyncGenerator<readonly Extent[], void>
  /** Exactly `length` bytes, or an error: a short answer is `platform-answer-invalid`. */
  read(call: Call, disk: DiskRef, range: Extent): Promise<Buffer>
  /** Written and durable when it resolves. A repeat of the same bytes is harmless. */
  write(call: Call, disk: DiskRef, offset: number, bytes: Buffer): Promise<void>
  /**
   * What changed since `changeId` (`*`: everything in use). Throws `platform-cursor-lost` when tracking was
   * switched off or begun anew in between, and only a full copy is safe.
   */
  changedBlocks(call: Call, disk: DiskRef, changeId: string): Promise<ChangedBlocks>
}
