import type { Queryable } from '../../client.ts'
import { type MachineFilter, machineFits } from './list-machines.ts'

export interface ChosenMachine {
  readonly id: string
  readonly name: string
}

/** How many machines follow that position, and the first of them in the order of their ids. */
export const chooseMachines = async (
  db: Queryable,
  choice: MachineFilter & { readonly ids?: readonly string[] | undefined },
  page: { readonly after: string | undefined; readonly limit: number },
): Promise<{ matched: number; chosen: ChosenMachine[] }> => {
  const meant = db`
    machine m join site s on s.id = m.target_id
    where ${machineFits(db, choice)}
      and ${choice.ids === undefined ? db`true` : db`m.id = any(${choice.ids as string[]}::uuid[])`}
      and ${page.after === undefined ? db`true` : db`m.id > ${page.after}::uuid`}`
  const [row] = await db<{ matched: number }[]>`select count(*)::int as matched from ${meant}`
  const chosen = await db<
    ChosenMachine[]
  >`select m.id, m.name from ${meant} order by m.id limit ${page.limit}`
  return { matched: row?.matched ?? 0, chosen }
}
