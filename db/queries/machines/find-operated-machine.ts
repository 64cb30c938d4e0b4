import type { Queryable } from '../../client.ts'

export interface NamedMachine {
  readonly id: string
  readonly name: string
  readonly target: string
  readonly gone: boolean
}

/** Machines with that name, existing ones first; a few are enough to report several. */
export const findMachinesCalled = async (db: Queryable, name: string): Promise<NamedMachine[]> =>
  await db<NamedMachine[]>`
    select m.id, m.name, coalesce(s.name, '') as target, m.gone_at is not null as gone
    from machine m left join site s on s.id = m.target_id
    where m.name = ${name} order by m.gone_at is not null, m.id limit 5`

export const findMachineById = async (db: Queryable, id: string): Promise<NamedMachine | undefined> => {
  const [row] = await db<NamedMachine[]>`
    select m.id, m.name, coalesce(s.name, '') as target, m.gone_at is not null as gone
    from machine m left join site s on s.id = m.target_id where m.id = ${id}::uuid`
  return row
}

/** The name of a machine's target, or its id if the target is gone. */
export const findTargetName = async (db: Queryable, machineId: string): Promise<string> => {
  const [row] = await db<{ target: string }[]>`
    select coalesce(s.name, m.target_id::text) as target
    from machine m left join site s on s.id = m.target_id where m.id = ${machineId}::uuid`
  return row?.target ?? ''
}
