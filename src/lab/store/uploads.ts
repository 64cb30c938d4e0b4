import type { Queryable } from '../../../db/client.ts'

interface WhichDisk {
  readonly site: string
  readonly machine: string
  readonly key: string
}

export const addUpload = async (tx: Queryable, upload: WhichDisk & { size: number }): Promise<void> => {
  await tx`
    insert into lab.upload (disk, size)
    select id, ${upload.size} from lab.disk
    where site = ${upload.site} and machine = ${upload.machine} and key = ${upload.key}`
}

export const findUpload = async (
  db: Queryable,
  which: WhichDisk,
): Promise<{ size: number; received: number } | undefined> => {
  const [row] = await db<{ size: number; received: number }[]>`
    select u.size, u.received from lab.upload u join lab.disk d on d.id = u.disk
    where d.site = ${which.site} and d.machine = ${which.machine} and d.key = ${which.key}`
  return row
}

/** Only forward: a second sender that lags behind takes nothing back. */
export const advanceUpload = async (db: Queryable, which: WhichDisk, received: number): Promise<void> => {
  await db`
    update lab.upload u set received = greatest(u.received, ${received}) from lab.disk d
    where d.id = u.disk and d.site = ${which.site} and d.machine = ${which.machine} and d.key = ${which.key}`
}

/** Keys of disks of which bytes are still to come. */
export const unfinishedUploads = async (
  db: Queryable,
  which: { site: string; machine: string },
): Promise<string[]> => {
  const rows = await db<{ key: string }[]>`
    select d.key from lab.upload u join lab.disk d on d.id = u.disk
    where d.site = ${which.site} and d.machine = ${which.machine} and u.received < u.size order by d.position`
  return rows.map(({ key }) => key)
}
