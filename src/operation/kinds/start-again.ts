import type { Db } from '../../../db/client.ts'
import { findSourceEntry } from '../../../db/queries/entries/find-source-entry.ts'
import { findMachine } from '../../../db/queries/machines/machine-rows.ts'
import { hasLaterPowerRequest } from '../../../db/queries/operations/later-power-request.ts'
import type { MachineRow } from '../../../db/schema/operation.ts'
import { requireMayStart, startOfMachine } from '../../inventory/power/start-guard.ts'
import { again } from '../../platforms/ports/bounded-wait.ts'
import { PlatformError } from '../../platforms/ports/platform-error.ts'
import { portOf } from '../../platforms/ports/ports.ts'
import type { Undoing } from '../perform/undo-task.ts'

interface OfMachine {
  readonly ref: string
  readonly machine_id: string
}

/**
 * Starts a machine that ran before and that an operation has left off. Later requests of start or stop, the run policy
 * and a migration that holds the machine take precedence. Throws until the machine runs: until then the start is owed.
 */
export const startAgain = async (undoing: Undoing<OfMachine>): Promise<void> => {
  const { db, effect, undo, platform, call, confirm } = undoing
  const machine = await findMachine(db, undo.machine_id)
  if (!machine || !(await isWantedOn(db, { machine, jobId: effect.jobId }))) return
  const power = portOf(platform, 'power')
  const seen = await again(call, () => power.power(call, undo.ref))
  if (!seen.found || seen.value.state !== 'off') return
  await requireMayStart(undoing, startOfMachine(machine, effect.jobId))
  confirm()
  try {
    const task = await power.start(call, undo.ref)
    await task.wait(call)
  } catch (error) {
    // It runs already.
    if (!(error instanceof PlatformError) || error.code !== 'platform-wrong-state') throw error
  }
}

const isWantedOn = async (
  db: Db,
  { machine, jobId }: { readonly machine: MachineRow; readonly jobId: string },
): Promise<boolean> => {
  if (machine.goneAt !== null || machine.runPolicy === 'always-off') return false
  if (await hasLaterPowerRequest(db, { machineId: machine.id, jobId })) return false
  return (await db.begin((tx) => findSourceEntry(tx, machine))) === null
}
