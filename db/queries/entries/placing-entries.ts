import type { Queryable, Tx } from '../../client.ts'

/** The hosts of other entries of a batch with the same attribute value, with counts. */
export const countHostsOfGroup = async (
  tx: Tx,
  asked: {
    readonly batchId: string
    readonly but: string
    readonly target: string
    readonly attribute: string
    readonly group: string
  },
): Promise<Map<string, number>> => {
  const rows = await tx<{ host: string; entries: number }[]>`
    select placement ->> 'host' as host, count(*)::int as entries from entry
    where batch_id = ${asked.batchId}::uuid and id <> ${asked.but}::uuid and placement ->> 'target' = ${asked.target}
      and placement ->> 'host' <> '' and facts -> 'attributes' ->> ${asked.attribute} = ${asked.group}
    group by 1`
  return new Map(rows.map(({ host, entries }) => [host, entries]))
}

/** Leftovers of an entry's earlier jobs on a target that are still to be removed. */
export const countMachineDebts = async (
  db: Queryable,
  asked: { readonly entryId: string; readonly effectKind: string; readonly jobId: string },
): Promise<number> => {
  const [row] = await db<{ debts: number }[]>`
    select count(*)::int as debts from effect
    where subject_type = 'entry' and subject_id = ${asked.entryId} and kind = ${asked.effectKind}
      and job_id <> ${asked.jobId}::uuid and state = 'debt'`
  return row?.debts ?? 0
}

/** Whether a machine is recorded in an entry. */
export const isMachineOfEntry = async (
  db: Queryable,
  asked: { readonly entryId: string; readonly ref: string },
): Promise<boolean> => {
  const rows = await db`
    select from entry where id = ${asked.entryId}::uuid and machine_ref = ${asked.ref}`
  return rows.length > 0
}

/** Records the disks of a new machine: nothing was copied to them yet. */
export const replaceEntryDisks = async (
  tx: Tx,
  entryId: string,
  disks: readonly { readonly disk: string; readonly targetDisk: string; readonly capacity: number }[],
): Promise<void> => {
  await tx`delete from entry_extent where entry_id = ${entryId}::uuid`
  await tx`delete from entry_disk where entry_id = ${entryId}::uuid`
  await tx`
    insert into entry_disk (entry_id, disk, target_disk, capacity)
    select ${entryId}::uuid, disk, target_disk, capacity
    from unnest(${disks.map(({ disk }) => disk)}::text[], ${disks.map(({ targetDisk }) => targetDisk)}::text[],
      ${disks.map(({ capacity }) => capacity)}::bigint[]) as given (disk, target_disk, capacity)`
}

/** Whether a target has a live machine with that name outside the list; in one project, or in any. */
export const findNamesake = async (
  db: Queryable,
  asked: {
    readonly targetId: string
    readonly name: string
    readonly but: readonly string[]
    readonly project: string | null
  },
): Promise<string | undefined> => {
  const [row] = await db<{ ref: string }[]>`
    select ref from machine where target_id = ${asked.targetId}::uuid and name = ${asked.name} and gone_at is null
      and ref <> all(${asked.but as string[]}::text[])
      and (${asked.project}::text is null or project = ${asked.project}) limit 1`
  return row?.ref
}
