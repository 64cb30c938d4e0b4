import type { JobKind } from '../kind.ts'
import { checkConnection } from './check-connection.ts'
import { cutoverInstance } from './cutover-instance.ts'
import { finalVerify } from './final-verify.ts'
import { importInstance } from './import-instance.ts'
import { importOva } from './import-ova.ts'
import { operateMachine } from './operate-machine.ts'
import { placeInstance } from './place-instance.ts'
import { planBatch } from './plan-batch.ts'
import { powerInstance } from './power-instance.ts'
import { removeReplica } from './remove-replica.ts'
import { selfTest } from './self-test.ts'
import { settleDebt } from './settle-debt.ts'
import { startBatch } from './start-batch.ts'
import { swapTemplate } from './swap-template.ts'
import { syncSource } from './sync-source.ts'
import { syncTarget } from './sync-target.ts'
import { trackInstance } from './track-instance.ts'
import { withdrawEntry } from './withdraw-entry.ts'

/** Every job kind; each has a handler in `workers/handlers`. */
export const jobKinds: readonly JobKind[] = [
  syncSource,
  syncTarget,
  checkConnection,
  powerInstance,
  trackInstance,
  startBatch,
  planBatch,
  placeInstance,
  importInstance,
  cutoverInstance,
  withdrawEntry,
  operateMachine,
  finalVerify,
  importOva,
  swapTemplate,
  removeReplica,
  selfTest,
  settleDebt,
]

const byName = new Map(jobKinds.map((kind) => [kind.kind, kind]))

export const findKind = (name: string): JobKind | undefined => byName.get(name)
