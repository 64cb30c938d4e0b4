import type { Db } from '../../../db/client.ts'
import { readSettingRows } from '../../../db/queries/fleet/settings.ts'
import { endResumptionRows, findDoubtfulResumptions } from '../../../db/queries/operations/end-resumptions.ts'
import {
  type PruneCursor,
  pruneGoneMachines,
  pruneOperations,
  pruneRefusals,
  pruneStart,
} from '../../../db/queries/operations/prune-operations.ts'
import type { Clock } from '../../clock.ts'
import { resumptionBounds } from '../../domain/operation/admission/operation-followups.ts'
import { whyResumptionEnds } from '../../domain/operation/admission/resumption-end.ts'
import { settingValue } from '../../domain/settings.ts'
import type { Logger } from '../../process/log.ts'
import { Loop } from '../../process/service.ts'

export interface PrunedRound {
  readonly operations: number
  readonly machines: number
  readonly refusals: number
  /** Resumptions that have ended. */
  readonly resumptions: number
  /** Where this pass continues; null: it is complete. */
  readonly next: PruneCursor | null
}

const refusalHours = 24
const passMs = 600_000
const pauseMs = 100

/** Removes old operations and machines, a few at a time. */
export const operationRetention = ({ db, clock, log }: { db: Db; clock: Clock; log: Logger }): Loop => {
  let after = pruneStart
  return new Loop({
    name: 'operation-retention',
    intervalMs: passMs,
    clock,
    log,
    runOnce: async () => {
      const { next, ...pruned } = await pruneOperationsOnce(db, { after })
      if (Object.values(pruned).some((count) => count > 0))
        log.debug({ pruned }, 'old operations were removed, and wishes ended')
      after = next ?? pruneStart
      return next === null ? false : pauseMs
    },
  })
}

/** One page of each, each in a short transaction. */
export const pruneOperationsOnce = async (
  db: Db,
  { after, limit = 500 }: { readonly after: PruneCursor; readonly limit?: number },
): Promise<PrunedRound> => {
  const stored = new Map((await readSettingRows(db)).map((row) => [row.name, row.value]))
  const resumptions = await endResumptions(db, limit)
  const { operations, next } = await pruneOperations(db, {
    days: settingValue(stored, 'retention-operations-days'),
    keep: settingValue(stored, 'operations-kept-per-machine'),
    limit,
    after,
  })
  const refusals = await pruneRefusals(db, { hours: refusalHours, limit })
  const machines = await pruneGoneMachines(db, { days: settingValue(stored, 'retention-events-days'), limit })
  return { operations, machines, refusals, resumptions, next }
}

/** Ends resumptions whose evacuation is over, with an event each; returns how many. */
const endResumptions = async (db: Db, limit: number): Promise<number> =>
  (await db.begin(async (tx) => {
    const over = (await findDoubtfulResumptions(tx, resumptionBounds, limit)).flatMap(({ id, ...facts }) => {
      const why = whyResumptionEnds(facts)
      return why === undefined ? [] : [{ id, reason: `It does not come back. ${why}` }]
    })
    if (over.length > 0) await endResumptionRows(tx, over, 'conductor')
    return over.length
  })) as number
