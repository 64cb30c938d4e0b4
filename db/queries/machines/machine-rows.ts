import { v7 as uuidv7 } from 'uuid'
import type { EntryStage, EntryState } from '../../../src/domain/migration/entry/entry.ts'
import { isCommitted } from '../../../src/domain/migration/entry/entry.ts'
import { storableText } from '../../../src/storable.ts'
import type { Queryable, Tx } from '../../client.ts'
import type { MachineRow } from '../../schema/operation.ts'

export const findMachine = async (db: Queryable, id: string): Promise<MachineRow | undefined> => {
  const [row] = await db<MachineRow[]>`select * from machine where id = ${id}::uuid`
  return row
}

/** Locked until the transaction ends: operations on one machine are admitted, promoted and ended one after another. */
export const lockMachine = async (tx: Tx, id: string): Promise<MachineRow | undefined> => {
  const [row] = await tx<MachineRow[]>`select * from machine where id = ${id}::uuid for no key update`
  return row
}

/**
 * The same without waiting for another transaction: `busy`. For rounds over many machines, where one must not delay
 * the others and comes again in the next round.
 */
export const tryLockMachine = async (tx: Tx, id: string): Promise<MachineRow | 'busy' | undefined> => {
  const [row] = await tx<MachineRow[]>`
    select * from machine where id = ${id}::uuid for no key update skip locked`
  return row ?? ((await findMachine(tx, id)) ? 'busy' : undefined)
}

/** The same by place. The machine is locked before its entry, as everywhere. */
export const lockMachinesAt = async (
  tx: Tx,
  at: { readonly targetId: string; readonly refs: readonly string[] },
): Promise<void> => {
  await tx`
    select from machine where target_id = ${at.targetId}::uuid and ref = any(${at.refs as string[]}::text[])
    order by id for no key update`
}

/** An unfinished migration that holds the machine. */
export interface HeldByEntry {
  readonly entryId: string
  /** The power-off of the source was requested. */
  readonly committed: boolean
}

/**
 * The unfinished entry of this machine, whatever the machine's row says: a sync may have seen the machine before its
 * entry recorded it. Then it is recognised by the UUID that the copy shares with its source.
 */
export const findHoldingEntry = async (tx: Tx, machine: MachineRow): Promise<HeldByEntry | null> => {
  const [known] = await tx<{ id: string; state: EntryState; stage: EntryStage }[]>`
    select id, state, stage from entry
    where state <> 'finished'
      and (id = ${machine.entryId} or (target_id = ${machine.targetId}::uuid and machine_ref = ${machine.ref}))
    order by id limit 1 for share`
  if (known) return { entryId: known.id, committed: isCommitted(known) }
  if (machine.origin === 'migrated' || machine.uuid === '') return null
  const [made] = await tx<{ id: string }[]>`
    select e.id from instance i join entry e on e.instance_id = i.id
    where i.uuid = ${machine.uuid} and e.state <> 'finished' and e.machine_ref is null
      and (e.target_id = ${machine.targetId}::uuid
        or e.placement ->> 'target' = (select name from site where id = ${machine.targetId}::uuid))
    limit 1 for share of e`
  return made ? { entryId: made.id, committed: false } : null
}

/** Records what was just seen; fields not given stay. A host is known by its name, whatever the platform returns. */
export const noteMachine = async (
  tx: Tx,
  id: string,
  seen: Partial<Pick<MachineRow, 'power' | 'host' | 'savedState'>>,
): Promise<void> => {
  await tx`
    update machine set power = coalesce(${seen.power ?? null}, power),
      host = coalesce((select h.name from host h where h.site_id = machine.target_id and h.ref = ${seen.host ?? null}
        and h.gone_at is null), ${seen.host ?? null}, host),
      saved_state = case when ${seen.savedState === undefined} then saved_state else ${seen.savedState ?? null} end,
      seen_at = now()
    where id = ${id}::uuid`
}

/** A machine as its entry leaves it. */
export interface MigratedMachine {
  readonly targetId: string
  readonly ref: string
  readonly entryId: string
  readonly instanceId: string
  readonly batch: string
  readonly seen: Pick<MachineRow, 'name' | 'uuid' | 'project' | 'host' | 'power' | 'cpus' | 'memory'>
}

/**
 * From now on people operate the machine. A machine that a sync has seen before keeps its row and its run policy.
 * Returns its id.
 */
export const handOverMachine = async (tx: Tx, made: MigratedMachine, by: string): Promise<string> => {
  const { seen } = made
  const [row] = await tx<{ id: string }[]>`
    with made as (
      insert into machine as m (id, target_id, ref, name, uuid, project, host, power, cpus, memory, origin, entry_id,
        instance_id)
      values (${uuidv7()}::uuid, ${made.targetId}::uuid, ${made.ref}, ${storableText(seen.name)}, ${seen.uuid},
        ${storableText(seen.project)}, ${storableText(seen.host)}, ${seen.power}, ${seen.cpus}, ${seen.memory}, 'migrated',
        ${made.entryId}::uuid, ${made.instanceId}::uuid)
      on conflict (target_id, ref) do update set name = excluded.name, uuid = excluded.uuid, project = excluded.project,
        host = excluded.host, power = excluded.power, cpus = excluded.cpus, memory = excluded.memory,
        origin = 'migrated', entry_id = excluded.entry_id, instance_id = excluded.instance_id, seen_at = now(),
        saved_state = null, gone_at = null
      returning m.*, xmax = 0 as is_new
    ), told as (
      insert into event (type, subject_type, subject_id, actor, to_state, detail)
      select case when is_new then 'machine.appeared' else 'machine.changed' end, 'machine', id::text, ${by}, power,
        jsonb_build_object('target', (select name from site where id = target_id), 'name', name, 'host', host,
          'origin', origin, 'entry_id', entry_id, 'batch', ${made.batch}::text)
      from made
    )
    select id from made`
  if (!row) throw new Error(`Machine ${made.ref} was neither made nor changed.`)
  return row.id
}

/** Marks machines as gone that their entry has removed. */
export const markMachinesGone = async (
  tx: Tx,
  gone: {
    readonly targetId: string
    readonly refs: readonly string[]
    readonly reason: string
    readonly by: string
  },
): Promise<void> => {
  await tx`
    with gone as (
      update machine set gone_at = now(), seen_at = now()
      where target_id = ${gone.targetId}::uuid and ref = any(${gone.refs as string[]}::text[]) and gone_at is null
      returning *
    )
    insert into event (type, subject_type, subject_id, actor, from_state, reason, detail)
    select 'machine.vanished', 'machine', id::text, ${gone.by}, power, ${gone.reason},
      jsonb_build_object('target', (select name from site where id = target_id), 'name', name, 'host', host)
    from gone`
}
