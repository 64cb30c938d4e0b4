import type { Db } from '../../../db/client.ts'
import { migrations } from './migrations.ts'

/** Spells `LABM`. Whoever brings the schema up holds it; a second process waits, then finds nothing to do. */
const migrationLock = 0x4c41424d

/** Brings the schema `lab` to this version: one transaction, nothing or all. */
export const migrateLab = async (db: Db): Promise<void> => {
  await db.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(${migrationLock})`
    // Under a login of its own the lab may make no schema: `migrate` made it, and even "if not exists" is refused.
    const [there] = await tx`select from pg_catalog.pg_namespace where nspname = 'lab'`
    if (!there) await tx`create schema lab`
    await tx`create table if not exists lab.migration (
      version integer primary key, applied_at timestamptz not null default now())`
    const [done] = await tx<{ version: number }[]>`
      select coalesce(max(version), 0)::int as version from lab.migration`
    for (const [index, text] of migrations.entries()) {
      if (index < (done?.version ?? 0)) continue
      await tx.unsafe(text)
      await tx`insert into lab.migration (version) values (${index + 1})`
    }
  })
}
