import type { Tx } from '../../client.ts'

/** From now on a sync keeps what it sees of these apart: their batch runs. Gives those that nobody else had. */
export const freezeInstances = async (
  tx: Tx,
  frozen: { readonly ids: readonly string[]; readonly by: string },
): Promise<string[]> => {
  const rows = await tx<{ id: string }[]>`
    update instance set frozen_by = ${frozen.by}
    where id = any(${frozen.ids as string[]}::uuid[]) and frozen_by is null returning id`
  return rows.map(({ id }) => id)
}

/** Its batch is through with it: the next sync makes what was kept apart the record. */
export const thawInstance = async (tx: Tx, id: string): Promise<void> => {
  await tx`update instance set frozen_by = null where id = ${id}::uuid and frozen_by is not null`
}
