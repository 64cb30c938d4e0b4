import type { Db, Queryable, Tx } from '../../../db/client.ts'
import { findSettingRow } from '../../../db/queries/fleet/settings.ts'
import { tryLockMachine } from '../../../db/queries/machines/machine-rows.ts'
import { noteOperation } from '../../../db/queries/operations/operation-rows.ts'
import {
  findHealedMachines,
  findStillActive,
  hastenDebts,
  noteStillActive,
} from '../../../db/queries/operations/still-active.ts'
import type { MachineRow } from '../../../db/schema/operation.ts'
import { decideStillActiveWait, type StillActiveWait } from '../../domain/operation/kinds/still-active.ts'
import { settingValue } from '../../domain/settings.ts'
import { mergeWarnings } from '../../inventory/connection/warnings.ts'
import type { Logger } from '../../process/log.ts'

const boundSetting = 'older-keeps-on-seconds'
const warningTypes = ['older-keeps-on'] as const
/** A debt that an operation waits for is retried this often, not once an hour. */
const debtEverySeconds = 30

/** Sent when no ended operation is active at the machine any more. */
export const settledSignal = (machineId: string): string => `machine/${machineId}/let-go`

/** How long the next operation waits for operations that are still active, before a warning is raised. */
export const stillActiveBoundSeconds = async (db: Queryable): Promise<number> => {
  const row = await findSettingRow(db, boundSetting)
  return settingValue(new Map([[boundSetting, row?.value]]), boundSetting)
}

/**
 * Records that the operation waits for operations of its machine that are still active, and what they do; undefined:
 * there are none. The machine is locked.
 */
export const awaitStillActive = async (
  tx: Tx,
  waits: { readonly operationId: string; readonly machine: MachineRow; readonly actor: string },
): Promise<StillActiveWait | undefined> => {
  const { operationId, machine, actor } = waits
  const older = await findStillActive(tx, machine.id)
  if (older.length === 0) return undefined
  const wait = decideStillActiveWait(older, await stillActiveBoundSeconds(tx))
  const { reason, message } = wait
  await hastenDebts(
    tx,
    older.map(({ jobId }) => jobId),
    debtEverySeconds,
  )
  if (reason === 'awaiting-older') await noteOperation(tx, operationId, { reason, message })
  else if (await noteStillActive(tx, { id: operationId, message, actor }))
    await mergeWarnings(
      tx,
      { entityType: 'machine', entityId: machine.id, entityName: machine.name },
      { types: warningTypes, said: { 'older-keeps-on': [message] }, actor },
    )
  return wait
}

/** Clears the warnings about machines whose cause is gone, each in its own transaction. True: there may be more. */
export const clearHealed = async (
  { db, log }: { readonly db: Db; readonly log: Logger },
  { limit, actor }: { readonly limit: number; readonly actor: string },
): Promise<boolean> => {
  const healed = await findHealedMachines(db, limit)
  let cleared = 0
  for (const { machine: id, type } of healed) {
    try {
      const done = await db.begin(async (tx) => {
        const machine = await tryLockMachine(tx, id)
        if (machine === 'busy') return false
        const place = { entityType: 'machine', entityId: id, entityName: machine?.name ?? id }
        await mergeWarnings(tx, place, { types: [type], said: {}, actor })
        return true
      })
      if (done) cleared += 1
    } catch (error) {
      log.warn({ err: error, machine: id }, 'a warning of a machine could not be taken back')
    }
  }
  return cleared === limit
}
