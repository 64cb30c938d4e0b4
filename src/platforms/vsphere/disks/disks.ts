import { child, isTrue, numberOf, type Ref, textOf, type XmlNode } from '../../../xml/xml-node.ts'
import type { Call } from '../../ports/call.ts'
import type { DiskRef, DisksPort, Extent } from '../../ports/disks.ts'
import { unsupported } from '../../ports/platform-error.ts'
import { readableBacking } from '../inventory/instance-disks.ts'
import {
  absent,
  machineRef,
  powerStateOf,
  readPresent,
  refused,
  textAt,
  wrongState,
} from '../soap/machines-reading.ts'
import { oddAnswer } from '../soap/odd-answer.ts'
import type { Session } from '../soap/session.ts'
import { type ChangeQuery, changedAreas, cursorLost, notTracked } from './changed-blocks.ts'
import { type DatastoreFile, datacenterPath, parseDatastorePath, readRange } from './datastore.ts'

/**
 * Bytes come from the base file of a disk through the datastore's file service: of a machine that is off, or of a
 * snapshot that holds the base. What lies on a chain of deltas needs a library that Drover does not use.
 */
export const openDisks = (session: Session): DisksPort => {
  const files = new FileMemory()
  return {
    extents: (call, disk) => extents(session, call, disk),
    read: async (call, disk, range) => {
      const known = files.recall(disk)
      const base = known ?? (await baseFile(session, call, disk))
      if (!known) files.remember(disk, base)
      refuseBeyond(disk, range, base.capacity)
      return readRange(session, call, base.file, range)
    },
    write: async () => {
      throw unsupported('vSphere', 'write ranges of a disk; images are brought in whole')
    },
    changedBlocks: async (call, disk, changeId) => {
      const seen = await readDisk(session, call, disk)
      const current = textOf(child(seen.device, 'backing'), 'changeId')
      if (!seen.isTracked || current === '')
        throw changeId === '*' ? notTracked(disk.machine) : cursorLost(disk.machine)
      // The part before the slash names one run of tracking: another one knows nothing of ours.
      if (changeId !== '*' && changeId.split('/', 1)[0] !== current.split('/', 1)[0])
        throw cursorLost(disk.machine)
      const found: Extent[] = []
      for await (const page of changedAreas(session, call, queryOf(disk, seen, changeId)))
        for (const extent of page) found.push(extent)
      return { extents: found, changeId: current }
    },
  }
}

interface SeenDisk {
  readonly device: XmlNode
  readonly isTracked: boolean
  readonly capacity: number
}

/** Without tracking nobody knows what is in use: then it is everything. */
async function* extents(
  session: Session,
  call: Call,
  disk: DiskRef,
): AsyncGenerator<readonly Extent[], void> {
  const seen = await readDisk(session, call, disk)
  const hasChangeId = textOf(child(seen.device, 'backing'), 'changeId') !== ''
  if (seen.isTracked && hasChangeId) yield* changedAreas(session, call, queryOf(disk, seen, '*'))
  else if (seen.capacity > 0) yield [{ offset: 0, length: seen.capacity }]
}

const queryOf = (disk: DiskRef, seen: SeenDisk, changeId: string): ChangeQuery => ({
  machine: disk.machine,
  snapshot: snapshotOf(disk),
  deviceKey: numberOf(seen.device, 'key'),
  capacity: seen.capacity,
  changeId,
})

const snapshotOf = ({ snapshot }: DiskRef): Ref | undefined =>
  snapshot === undefined ? undefined : { type: 'VirtualMachineSnapshot', value: snapshot }

/** The disk as the machine, or the snapshot, has it. */
const readDisk = async (session: Session, call: Call, disk: DiskRef): Promise<SeenDisk> => {
  const on = snapshotOf(disk) ?? machineRef(disk.machine)
  const paths = ['config.hardware.device', 'config.changeTrackingEnabled']
  const read = await readPresent(session, call, on, paths)
  const devices = read.properties.get('config.hardware.device')?.children ?? []
  const device = devices.find((one) => one.xsiType === 'VirtualDisk' && textOf(one, 'key') === disk.disk)
  if (!device) throw absent(session, `disk ${disk.disk} of ${on.value}`)
  const capacity = numberOf(device, 'capacityInBytes') || numberOf(device, 'capacityInKB') * 1024
  if (!Number.isSafeInteger(capacity) || capacity < 0)
    throw oddAnswer(session.http, `disk ${disk.disk} of ${on.value} has no size`)
  return { device, isTracked: isTrue(textAt(read, 'config.changeTrackingEnabled')), capacity }
}

interface BaseFile {
  readonly file: DatastoreFile
  readonly capacity: number
}

const refuseBeyond = (disk: DiskRef, { offset, length }: Extent, capacity: number): void => {
  if (offset >= 0 && length >= 0 && offset + length <= capacity) return
  throw refused(
    `Bytes ${offset} to ${offset + length} are not on disk ${disk.disk} of ${disk.machine}, which has ${capacity}.`,
    'Sync the inventory: the disk may have been made smaller.',
    { detail: { machine: disk.machine, disk: disk.disk } },
  )
}

const baseFile = async (session: Session, call: Call, disk: DiskRef): Promise<BaseFile> => {
  const { device, capacity } = await readDisk(session, call, disk)
  const backing = child(device, 'backing')
  const type = backing?.xsiType ?? ''
  if (type !== readableBacking) throw unsupported('vSphere', `read a disk on ${type || 'nothing'}`)
  if (child(backing, 'keyId')) throw unsupported('vSphere', 'read an encrypted disk through its files')
  if (child(backing, 'parent'))
    throw refused(
      `Disk ${disk.disk} of ${disk.machine} lies on a chain of snapshots, and its base alone is not its content.`,
      'Consolidate the snapshots of the machine, then try again.',
      { detail: { machine: disk.machine, disk: disk.disk } },
    )
  if (disk.snapshot === undefined) await requireOff(session, call, disk.machine)
  const { datastore, path } = parseDatastorePath(textOf(backing, 'fileName'))
  const datacenter = await datacenterPath(session, call, machineRef(disk.machine))
  return { capacity, file: { datacenter, datastore, path: path.replace(/\.vmdk$/, '-flat.vmdk') } }
}

const requireOff = async (session: Session, call: Call, machine: string): Promise<void> => {
  const state = powerStateOf(
    session,
    await readPresent(session, call, machineRef(machine), ['runtime.powerState']),
  )
  if (state !== 'off')
    throw wrongState(`${machine} is ${state}, so its disks change while they are read.`, { machine, state })
}

const mostFiles = 1_000

/** What a snapshot holds stays where it is, so it is looked up once; what a machine holds is looked up each time. */
class FileMemory {
  readonly #files = new Map<string, BaseFile>()

  recall(disk: DiskRef): BaseFile | undefined {
    return this.#files.get(keyOf(disk))
  }

  remember(disk: DiskRef, file: BaseFile): void {
    if (disk.snapshot === undefined) return
    if (this.#files.size >= mostFiles) this.#files.clear()
    this.#files.set(keyOf(disk), file)
  }
}

const keyOf = ({ machine, disk, snapshot }: DiskRef): string => [machine, disk, snapshot ?? ''].join('\n')
