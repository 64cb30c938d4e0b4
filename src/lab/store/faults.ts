import type { Queryable } from '../../../db/client.ts'
import type { FaultRule } from '../model/fault-rule.ts'

export interface StoredFault {
  readonly id: number
  readonly rule: FaultRule
  readonly seen: number
  readonly struck: number
}

export const addFault = async (db: Queryable, rule: FaultRule): Promise<number> => {
  const [row] = await db<{ id: number }[]>`
    insert into lab.fault (rule) values (${db.json(rule as never)}) returning id`
  return row?.id ?? 0
}

export const listFaults = async (db: Queryable): Promise<StoredFault[]> =>
  await db<StoredFault[]>`select id, rule, seen, struck from lab.fault order by id`

export const hasFault = async (db: Queryable, id: number): Promise<boolean> =>
  (await db`select from lab.fault where id = ${id}`).length > 0

export const removeFault = async (db: Queryable, id: number): Promise<boolean> =>
  (await db`delete from lab.fault where id = ${id} returning 1`).length > 0

export const removeFaults = async (db: Queryable): Promise<void> => {
  await db`delete from lab.fault`
}

/** Counts a call that fits; answers the how-manieth it is, and how often the fault struck before. */
export const countSeen = async (
  db: Queryable,
  id: number,
): Promise<{ nth: number; struck: number } | undefined> => {
  const [row] = await db<{ nth: number; struck: number }[]>`
    update lab.fault set seen = seen + 1 where id = ${id} returning seen as nth, struck`
  return row
}

/** Takes one of the times that it may strike; false when others took them all. */
export const countStruck = async (db: Queryable, id: number, times: number | null): Promise<boolean> => {
  const rows = await db`
    update lab.fault set struck = struck + 1
    where id = ${id} and (${times}::bigint is null or struck < ${times}) returning 1`
  return rows.length > 0
}
