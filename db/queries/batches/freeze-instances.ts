import type { Tx } from '../../client.ts'

/** Freezes instances: syncs record their changes as pending from now on. Returns those that no other batch had. */
export const freezeInstances = async (
  tx: Tx,
  frozen: { readonly ids: readonly string[]; readonly by: string },
): Promise<string[]> => {
  const rows = await tx<{ id: string }[]>`
    update instance set frozen_by = ${frozen.by}
    where id = any(${frozen.ids as string[]}::uuid[]) and frozen_by is null returning id`
  return rows.map(({ id }) => id)
}

/** Releases an instance: the next sync adopts its pending facts. */
export const thawInstance = async (tx: Tx, id: string): Promise<void> => {
  await tx`update instance set frozen_by = null where id = ${id}::uuid and frozen_by is not null`
}
