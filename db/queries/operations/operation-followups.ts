import type { Tx } from '../../client.ts'

/** Records that a person wants the machine off from now on, or on. */
export const noteStopped = async (tx: Tx, machineId: string, stopped: boolean): Promise<void> => {
  await tx`
    update machine set stopped_at = case when ${stopped} then now() end
    where id = ${machineId}::uuid and (${stopped} or stopped_at is not null)`
}

/** Records when the run policy of a machine is checked again. */
export const notePolicyEnd = async (
  tx: Tx,
  machineId: string,
  note: { readonly failures: number; readonly restSeconds: number },
): Promise<void> => {
  await tx`
    update machine set policy_failures = ${note.failures},
      policy_next_at = now() + ${note.restSeconds} * interval '1 second'
    where id = ${machineId}::uuid`
}

/** Records when an evacuation is tried again. */
export const noteResumption = async (
  tx: Tx,
  id: string,
  note: { readonly failures: number; readonly restSeconds: number },
): Promise<void> => {
  await tx`
    update operation set failures = ${note.failures},
      come_back_at = now() + ${note.restSeconds} * interval '1 second', updated_at = now()
    where id = ${id}::uuid`
}

/** Cancels all resumptions of a machine, and returns the ids of their operations. */
export const stopResumptions = async (tx: Tx, machineId: string): Promise<string[]> => {
  const rows = await tx<{ id: string }[]>`
    update operation set come_back_at = null, updated_at = now()
    where machine_id = ${machineId}::uuid and come_back_at is not null returning id`
  return rows.map(({ id }) => id)
}
