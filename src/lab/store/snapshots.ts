import type { Queryable } from '../../../db/client.ts'
import type { Change } from '../model/context.ts'

export interface Snapshot {
  readonly ref: string
  readonly machine: string
  readonly name: string
  readonly parent: string | null
  readonly createdAt: Date
  readonly memory: boolean
  readonly counter: number | null
  readonly bootId: string
}

export const listSnapshots = async (db: Queryable, site: string, machine: string): Promise<Snapshot[]> =>
  await db<Snapshot[]>`
    select * from lab.snapshot where site = ${site} and machine = ${machine} order by created_at, ref`

export const getSnapshot = async (
  db: Queryable,
  site: string,
  machine: string,
  ref: string,
): Promise<Snapshot | undefined> => {
  const [row] = await db<Snapshot[]>`
    select * from lab.snapshot where site = ${site} and machine = ${machine} and ref = ${ref}`
  return row
}

export const addSnapshot = async (change: Change, snapshot: Snapshot): Promise<void> => {
  const { ref, machine, name, parent, createdAt, memory, counter, bootId } = snapshot
  await change.tx`
    insert into lab.snapshot (site, ref, machine, name, parent, created_at, memory, counter, boot_id)
    values (${change.site}, ${ref}, ${machine}, ${name}, ${parent}, ${createdAt}, ${memory}, ${counter}, ${bootId})`
}

/** Its children become its parent's. */
export const dropSnapshot = async (change: Change, snapshot: Snapshot): Promise<void> => {
  const { tx, site } = change
  await tx`
    update lab.snapshot set parent = ${snapshot.parent}
    where site = ${site} and machine = ${snapshot.machine} and parent = ${snapshot.ref}`
  await tx`delete from lab.snapshot where site = ${site} and ref = ${snapshot.ref}`
}

export interface FrozenDisk {
  readonly key: string
  readonly layer: number
  /** What it took on its storage then. */
  readonly allocated: number | null
}

/** The layers in which a snapshot holds its disks. */
export const frozenDisks = async (db: Queryable, site: string, snapshot: string): Promise<FrozenDisk[]> =>
  await db<FrozenDisk[]>`
    select key, layer, allocated from lab.snapshot_disk where site = ${site} and snapshot = ${snapshot} order by key`

/** All layers that the snapshots of a machine hold. */
export const layersOfSnapshots = async (db: Queryable, site: string, machine: string): Promise<number[]> => {
  const rows = await db<{ layer: number }[]>`
    select d.layer from lab.snapshot_disk d join lab.snapshot s on s.site = d.site and s.ref = d.snapshot
    where s.site = ${site} and s.machine = ${machine}`
  return rows.map(({ layer }) => layer)
}

export const addFrozenDisk = async (
  { tx, site }: Change,
  snapshot: string,
  disk: { key: string; layer: number; epoch: number; tracking: string | null; allocated: number },
): Promise<void> => {
  await tx`
    insert into lab.snapshot_disk (site, snapshot, key, layer, epoch, tracking, allocated)
    values (${site}, ${snapshot}, ${disk.key}, ${disk.layer}, ${disk.epoch}, ${disk.tracking}, ${disk.allocated})`
}
