import { v7 as uuidv7 } from 'uuid'
import type { Db } from '../../db/client.ts'
import type { MachineRow } from '../../db/schema/operation.ts'

/** A machine on a target that nobody has to reach. */
export const addMachine = async (
  db: Db,
  given: Partial<Pick<MachineRow, 'power' | 'runPolicy' | 'savedState' | 'name' | 'targetId' | 'ref'>> = {},
): Promise<string> => {
  const id = uuidv7()
  const { power = 'on', runPolicy = 'manual', savedState = null, name = `vm-${id.slice(-6)}` } = given
  await db`
    insert into machine (id, target_id, ref, name, uuid, project, host, power, saved_state, cpus, memory, run_policy,
      origin, policy_next_at)
    values (${id}::uuid, ${given.targetId ?? uuidv7()}::uuid, ${given.ref ?? `ref-${id}`}, ${name}, ${uuidv7()},
      'default', 'node-1', ${power}, ${savedState}, 1, 1073741824, ${runPolicy}, 'adopted', now() - interval '1 second')`
  return id
}
