import type { Queryable } from '../../client.ts'
import type { InstanceRow } from '../../schema/inventory.ts'

/** A complete instance, for workers. */
export const findInstanceById = async (db: Queryable, id: string): Promise<InstanceRow | undefined> => {
  const [row] = await db<InstanceRow[]>`select * from instance where id = ${id}::uuid`
  return row
}
