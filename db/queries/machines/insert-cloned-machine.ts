import type { InstanceFacts } from '../../../src/domain/inventory/facts.ts'
import type { Tx } from '../../client.ts'

export interface ClonedMachine {
  readonly id: string
  readonly targetId: string
  readonly target: string
  readonly clonedFrom: string
  readonly facts: InstanceFacts
  readonly actor: string
}

/** Inserts a machine that an operation has made, unless a sync has seen it already; returns its id in either case. */
export const insertClonedMachine = async (tx: Tx, made: ClonedMachine): Promise<string> => {
  const { facts } = made
  const [row] = await tx<{ id: string }[]>`
    with inserted as (
      insert into machine (id, target_id, ref, name, uuid, project, host, power, cpus, memory, origin)
      values (${made.id}::uuid, ${made.targetId}::uuid, ${facts.ref}, ${facts.name}, ${facts.uuid},
        ${facts.resource_pool}, ${facts.host}, ${facts.power_state}, ${facts.cpus}, ${facts.memory}, 'adopted')
      on conflict do nothing returning *
    ), told as (
      insert into event (type, subject_type, subject_id, actor, to_state, detail)
      select 'machine.appeared', 'machine', id::text, ${made.actor}, power,
        jsonb_build_object('target', ${made.target}::text, 'name', name, 'host', host,
          'cloned_from', ${made.clonedFrom}::uuid)
      from inserted
    )
    select id from inserted
    union all
    select id from machine where target_id = ${made.targetId}::uuid and ref = ${facts.ref}
    limit 1`
  if (!row) throw new Error('A machine was not stored.')
  return row.id
}
