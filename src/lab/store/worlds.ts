import type { Queryable, Tx } from '../../../db/client.ts'
import type { Certificate } from '../model/certificate.ts'

export interface WorldRow {
  readonly name: string
  readonly seed: number
  readonly pace: number
  readonly offsetMs: number
  readonly tls: Certificate | null
}

export const readWorld = async (db: Queryable): Promise<WorldRow | undefined> => {
  const [row] = await db<WorldRow[]>`select name, seed, pace, offset_ms, tls from lab.world`
  return row
}

/** Spells `LABW`. One world is made at a time. */
const worldLock = 0x4c414257

/** Takes everything away, the recording included; the certificate stays, as a machine's would. */
export const clearWorld = async (
  tx: Tx,
  next: { name: string; seed: number; pace: number },
): Promise<void> => {
  await tx`set local statement_timeout = '120s'`
  await tx`select pg_advisory_xact_lock(${worldLock})`
  await tx`
    truncate lab.site, lab.session, lab.entity, lab.machine, lab.layer, lab.block, lab.disk, lab.snapshot,
      lab.snapshot_disk, lab.saved, lab.upload, lab.task, lab.power_log, lab.fault, lab.call`
  await tx`
    insert into lab.world (name, seed, pace) values (${next.name}, ${next.seed}, ${next.pace})
    on conflict (only_row) do update set
      name = excluded.name, seed = excluded.seed, pace = excluded.pace, offset_ms = 0`
}

/** Lets time pass; answers by how much the lab is ahead of the wall now. */
export const advanceTime = async (db: Queryable, ms: number): Promise<number> => {
  const [row] = await db<{ offsetMs: number }[]>`
    update lab.world set offset_ms = offset_ms + ${ms} returning offset_ms`
  return row?.offsetMs ?? 0
}

export const storeCertificate = async (db: Queryable, tls: Certificate): Promise<void> => {
  await db`update lab.world set tls = ${db.json(tls as never)}`
}

/** Fails when Postgres is away. */
export const ping = async (db: Queryable): Promise<void> => {
  await db`select`
}
