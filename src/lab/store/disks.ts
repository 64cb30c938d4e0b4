import type { Queryable, Tx } from '../../../db/client.ts'
import type { Change } from '../model/context.ts'
import { newId } from '../model/context.ts'
import { type DiskProfile, dataBytes } from '../model/disk-content.ts'
import { absent } from '../model/refusal.ts'

export interface Disk {
  readonly id: number
  readonly site: string
  readonly machine: string
  readonly key: string
  readonly position: number
  readonly capacity: number
  readonly storage: string
  readonly thin: boolean
  readonly seed: number
  readonly profile: DiskProfile
  readonly layer: number
  readonly allocated: number
  readonly epoch: number
  readonly tracking: string | null
}

/** A disk as it stood at one moment: which layers hold its bytes, and where tracking stood. */
export interface DiskView {
  readonly disk: Disk
  readonly path: readonly number[]
  readonly epoch: number
  readonly tracking: string | null
}

export const listDisks = async (db: Queryable, site: string, machine: string): Promise<Disk[]> =>
  await db<Disk[]>`
    select * from lab.disk where site = ${site} and machine = ${machine} order by position`

/** Held until the transaction ends: writes of one disk come one after another. */
export const lockDisk = async (tx: Tx, site: string, machine: string, key: string): Promise<Disk> => {
  const [disk] = await tx<Disk[]>`
    select * from lab.disk where site = ${site} and machine = ${machine} and key = ${key} for update`
  if (!disk) throw absent(`disk "${key.slice(0, 100)}" of machine "${machine}"`)
  return disk
}

/** The layers that make up a layer's bytes, from the root to itself. */
export const pathOf = async (db: Queryable, layer: number): Promise<readonly number[]> => {
  const [row] = await db<{ path: number[] }[]>`select path from lab.layer where id = ${layer}`
  return row?.path ?? [layer]
}

/** One write more, and what it takes; answers the number of the write. */
export const noteWrite = async (tx: Tx, disk: Disk, grownBytes: number): Promise<number> => {
  const [row] = await tx<{ epoch: number }[]>`
    update lab.disk set epoch = epoch + 1, allocated = allocated + ${grownBytes}
    where id = ${disk.id} returning epoch`
  return row?.epoch ?? 0
}

export const viewDisk = async (
  db: Queryable,
  which: { site: string; machine: string; key: string; snapshot: string },
): Promise<DiskView> => {
  const [disk] = await db<Disk[]>`
    select * from lab.disk
    where site = ${which.site} and machine = ${which.machine} and key = ${which.key}`
  if (!disk) throw absent(`disk "${which.key.slice(0, 100)}" of machine "${which.machine}"`)
  if (which.snapshot === '') {
    return { disk, path: await pathOf(db, disk.layer), epoch: disk.epoch, tracking: disk.tracking }
  }
  const [frozen] = await db<{ path: number[]; epoch: number; tracking: string | null }[]>`
    select l.path, d.epoch, d.tracking from lab.snapshot s
    join lab.snapshot_disk d on d.site = s.site and d.snapshot = s.ref
    join lab.layer l on l.id = d.layer
    where s.site = ${which.site} and s.machine = ${which.machine} and s.ref = ${which.snapshot}
      and d.key = ${which.key}`
  if (!frozen) throw absent(`snapshot "${which.snapshot.slice(0, 100)}" with that disk`)
  return { disk, ...frozen }
}

export const addLayer = async (tx: Queryable, parent: number | null): Promise<number> => {
  const [row] = await tx<{ id: number }[]>`
    with made as (
      select nextval(pg_get_serial_sequence('lab.layer', 'id')) as id
    )
    insert into lab.layer (id, parent, path) overriding system value
    select made.id, ${parent}, coalesce((select path from lab.layer where id = ${parent}), '{}') || made.id from made
    returning id`
  return row?.id ?? 0
}

export interface NewDiskRow {
  readonly machine: string
  readonly key: string
  readonly position: number
  readonly capacity: number
  readonly storage: string
  readonly thin: boolean
  readonly seed: number
  readonly profile: DiskProfile
  readonly tracked: boolean
  /** A layer to grow from, for the disk of a clone. */
  readonly base?: { readonly layer: number; readonly allocated: number }
}

export const addDisk = async (change: Pick<Change, 'tx' | 'site'>, disk: NewDiskRow): Promise<number> => {
  const layer = await addLayer(change.tx, disk.base?.layer ?? null)
  const allocated = disk.thin ? (disk.base?.allocated ?? dataBytes(disk.profile)) : disk.capacity
  const [row] = await change.tx<{ id: number }[]>`
    insert into lab.disk (site, machine, key, position, capacity, storage, thin, seed, profile, layer, allocated,
      tracking)
    values (${change.site}, ${disk.machine}, ${disk.key}, ${disk.position}, ${disk.capacity}, ${disk.storage},
      ${disk.thin}, ${disk.seed}, ${change.tx.json(disk.profile as never)}, ${layer}, ${allocated},
      ${disk.tracked ? newId() : null})
    returning id`
  return row?.id ?? 0
}

/** Freezes what the disk holds now: later writes go to a new layer. Answers the frozen one. */
export const freezeDisk = async (tx: Tx, disk: Disk): Promise<number> => {
  const layer = await addLayer(tx, disk.layer)
  await tx`update lab.disk set layer = ${layer} where id = ${disk.id}`
  return disk.layer
}

/** The disk goes on from that layer; what was written since is let go. Tracking cannot bridge that. */
export const rewindDisk = async (
  tx: Tx,
  disk: Disk,
  to: { layer: number; allocated: number | null },
): Promise<void> => {
  const layer = await addLayer(tx, to.layer)
  await tx`
    update lab.disk set layer = ${layer}, epoch = epoch + 1, allocated = coalesce(${to.allocated}::bigint, allocated),
      tracking = case when tracking is null then null else ${newId()} end
    where id = ${disk.id}`
  await releaseLayer(tx, disk.layer)
}

export const setTracking = async (tx: Tx, site: string, machine: string, on: boolean): Promise<void> => {
  if (on)
    await tx`
      update lab.disk set tracking = gen_random_uuid()::text
      where site = ${site} and machine = ${machine} and tracking is null`
  else await tx`update lab.disk set tracking = null where site = ${site} and machine = ${machine}`
}

export const removeDisks = async (tx: Tx, site: string, machine: string): Promise<void> => {
  const disks = await listDisks(tx, site, machine)
  await tx`delete from lab.disk where site = ${site} and machine = ${machine}`
  for (const disk of disks) await releaseLayer(tx, disk.layer)
}

/**
 * Lets go of a layer that may be in use no more. One that nobody stands on goes, and then maybe its parent; one
 * with a single child is folded into it, so that chains stay short; anything else stays.
 */
export const releaseLayer = async (tx: Tx, first: number): Promise<void> => {
  let layer: number | null = first
  while (layer !== null) {
    const [use]: { parent: number | null; used: boolean; children: number[] }[] = await tx<
      { parent: number | null; used: boolean; children: number[] }[]
    >`
      select l.parent,
        exists (select from lab.disk where layer = l.id)
          or exists (select from lab.snapshot_disk where layer = l.id) as used,
        array(select id from lab.layer where parent = l.id limit 2) as children
      from lab.layer l where l.id = ${layer} for update`
    if (!use || use.used || use.children.length > 1) return
    const [child] = use.children
    if (child !== undefined) return await foldInto(tx, layer, { child, parent: use.parent })
    await tx`delete from lab.layer where id = ${layer}`
    layer = use.parent
  }
}

const foldInto = async (
  tx: Tx,
  layer: number,
  family: { child: number; parent: number | null },
): Promise<void> => {
  await tx`
    insert into lab.block (layer, block, epoch, bytes)
    select ${family.child}, block, epoch, bytes from lab.block where layer = ${layer}
    on conflict (layer, block) do nothing`
  await tx`update lab.layer set parent = ${family.parent} where id = ${family.child}`
  await tx`update lab.layer set path = array_remove(path, ${layer}::bigint) where ${layer} = any(path)`
  await tx`delete from lab.layer where id = ${layer}`
}
