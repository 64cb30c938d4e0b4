import type { Queryable } from '../client.ts'

/** Which machines are meant, all that are there of these. */
export interface MachineChoice {
  readonly target?: string | undefined
  readonly host?: string | undefined
  readonly project?: string | undefined
  readonly power?: string | undefined
  readonly runPolicy?: string | undefined
  readonly ids?: readonly string[] | undefined
}

export interface ChosenMachine {
  readonly id: string
  readonly name: string
}

const fits = (db: Queryable, choice: MachineChoice, after: string | undefined) => db`
  m.gone_at is null
  and ${choice.target === undefined ? db`true` : db`m.target_id in (select id from site where role = 'target' and name = ${choice.target})`}
  and ${choice.host === undefined ? db`true` : db`m.host = ${choice.host}`}
  and ${choice.project === undefined ? db`true` : db`m.project = ${choice.project}`}
  and ${choice.power === undefined ? db`true` : db`m.power = ${choice.power}`}
  and ${choice.runPolicy === undefined ? db`true` : db`m.run_policy = ${choice.runPolicy}`}
  and ${choice.ids === undefined ? db`true` : db`m.id = any(${choice.ids as string[]}::uuid[])`}
  and ${after === undefined ? db`true` : db`m.id > ${after}::uuid`}`

/** How many are meant behind that place, and the first of them in the order of their ids. */
export const chooseMachines = async (
  db: Queryable,
  choice: MachineChoice,
  page: { readonly after: string | undefined; readonly limit: number },
): Promise<{ matched: number; chosen: ChosenMachine[] }> => {
  const [row] = await db<{ matched: number }[]>`
    select count(*)::int as matched from machine m where ${fits(db, choice, page.after)}`
  const chosen = await db<ChosenMachine[]>`
    select m.id, m.name from machine m where ${fits(db, choice, page.after)} order by m.id limit ${page.limit}`
  return { matched: row?.matched ?? 0, chosen }
}
