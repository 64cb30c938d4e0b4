import type { Queryable } from '../../../db/client.ts'
import type { Change } from '../model/context.ts'
import type { BootRecord } from '../model/disk-content.ts'
import { absent } from '../model/refusal.ts'

/** How often each disk had been written. */
export type Epochs = Readonly<Record<string, number>>

export interface Saved {
  readonly ref: string
  readonly machine: string
  readonly bootId: string
  readonly counter: number
  readonly guest: BootRecord | null
  readonly epochs: Epochs
  readonly digest: string
  readonly content: Buffer
  readonly createdAt: Date
}

export const addSaved = async (change: Change, saved: Saved): Promise<void> => {
  const { tx, site } = change
  await tx`
    insert into lab.saved (site, ref, machine, boot_id, counter, guest, epochs, digest, content, created_at)
    values (${site}, ${saved.ref}, ${saved.machine}, ${saved.bootId}, ${saved.counter},
      ${saved.guest === null ? null : tx.json(saved.guest as never)}, ${tx.json(saved.epochs as never)},
      ${saved.digest}, ${saved.content}, ${saved.createdAt})`
}

export const getSaved = async (db: Queryable, site: string, ref: string): Promise<Saved> => {
  const [row] = await db<Saved[]>`select * from lab.saved where site = ${site} and ref = ${ref}`
  if (!row) throw absent(`saved state "${ref.slice(0, 100)}"`)
  return row
}

export const dropSaved = async (db: Queryable, site: string, ref: string): Promise<void> => {
  await db`delete from lab.saved where site = ${site} and ref = ${ref}`
}
