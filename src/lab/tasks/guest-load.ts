import { type Change, toDate, toMs } from '../model/context.ts'
import { blockBytes, noise } from '../model/disk-content.ts'
import { Refusal } from '../model/refusal.ts'
import { type Disk, listDisks, lockDisk } from '../store/disks.ts'
import { type Machine, saveLoadAt } from '../store/machines.ts'
import { writeLocked } from './disk-bytes.ts'

/** Where a guest keeps its log: each boot is written there, so that a start is seen in the disk. */
const bootLogBlock = 1
/** Where the ring of a guest that writes begins. */
const ringStart = 16

const bootDisk = async (change: Change, machine: Machine): Promise<Disk | undefined> => {
  const [first] = await listDisks(change.tx, change.site, machine.ref)
  return first ? await lockDisk(change.tx, change.site, machine.ref, first.key) : undefined
}

/** A guest that boots writes that to its disk. */
export const bootWrites = async (change: Change, machine: Machine): Promise<void> => {
  if (!machine.guest) return
  const disk = await bootDisk(change, machine)
  if (!disk || disk.capacity < (bootLogBlock + 1) * blockBytes) return
  const bytes = Buffer.alloc(blockBytes, `boot ${machine.bootId}\n`)
  await guestWrite(change, disk, { offset: bootLogBlock * blockBytes, bytes })
}

/**
 * Brings the disk of a running guest that writes up to this moment: tick by tick a block of its ring. Only the last
 * round is written, because earlier ones would be overwritten anyway; so a long sleep costs no more than a short one.
 */
export const guestWrites = async (change: Change, machine: Machine): Promise<boolean> => {
  const load = machine.guest?.writes
  const since = toMs(machine.loadAt)
  if (!load || machine.power !== 'on' || since === null) return false
  const began = toMs(machine.counterAt) ?? since
  const first = Math.floor((since - began) / load.every_ms)
  const end = Math.floor((change.at - began) / load.every_ms)
  if (end <= first) return false
  const disk = await bootDisk(change, machine)
  if (!disk) return false
  const room = Math.floor(disk.capacity / blockBytes) - ringStart
  const blocks = Math.min(load.blocks, room)
  if (blocks < 1) return false
  for (let tick = Math.max(first, end - blocks); tick < end; tick += 1) {
    const block = ringStart + (tick % blocks)
    const bytes = noise(`${machine.bootId}:${machine.runId}:${tick}`, block)
    await guestWrite(change, disk, { offset: block * blockBytes, bytes })
  }
  machine.loadAt = toDate(began + end * load.every_ms)
  await saveLoadAt(change, machine)
  return true
}

/** A guest whose storage is full loses its writes, as guests do; the machine runs on. */
const guestWrite = async (
  change: Change,
  disk: Disk,
  write: { offset: number; bytes: Buffer },
): Promise<void> => {
  try {
    await writeLocked(change.tx, disk, write)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
  }
}
