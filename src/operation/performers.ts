import type { Db } from '../../db/client.ts'
import type { EffectRow } from '../../db/schema/effect.ts'
import type { OperationKind } from '../domain/operation/kinds.ts'
import type { UsePlatform } from '../inventory/sync-site.ts'
import { awaitOwnTasks } from './await-own-tasks.ts'
import { operationPowerKind, restartMachine, startMachine, stopMachine } from './perform/power.ts'
import type { Performer } from './performer.ts'

/** How each kind is done. */
export const performers: Readonly<Partial<Record<OperationKind, Performer>>> = {
  start: startMachine,
  stop: stopMachine,
  restart: restartMachine,
}

type Undo = (effect: EffectRow, signal: AbortSignal, confirm: () => void) => Promise<void>

/** How what an operation began is called off when it ends before its time, by effect kind. */
export const operationUndoers = (db: Db, use: UsePlatform): Readonly<Record<string, Undo>> => ({
  [operationPowerKind]: (effect, signal) => awaitOwnTasks(db, use, effect, signal),
})
