import type { Tx } from '../../../db/client.ts'
import { findSourceEntry } from '../../../db/queries/entries/find-source-entry.ts'
import { lockMachine } from '../../../db/queries/machines/machine-rows.ts'
import {
  findOpenOperations,
  findOperation,
  lockOperationOfJob,
  type OperationAtWork,
  settleOperations,
} from '../../../db/queries/operations/operation-rows.ts'
import { loadSiteById } from '../../../db/queries/sites/load-site.ts'
import type { SiteRow } from '../../../db/schema/inventory.ts'
import type { MachineRow } from '../../../db/schema/operation.ts'
import { whyNotStarted } from '../../domain/operation/admission/admit.ts'
import { operationReasons } from '../../domain/operation/kinds/reasons.ts'
import { hasEnded } from '../../domain/operation/kinds/state.ts'
import type { StillActiveWait } from '../../domain/operation/kinds/still-active.ts'
import { DroverError } from '../../errors.ts'
import { requireTrusted } from '../../inventory/connection/connectivity.ts'
import { actorOf, type JobContext } from '../../ledger/job.ts'
import { awaitStillActive, settledSignal } from './await-still-active.ts'
import type { MachineContext } from './machine-lock.ts'

export interface Entered {
  readonly ctx: MachineContext
  readonly operation: OperationAtWork
  readonly machine: MachineRow
  readonly target: SiteRow
}

/** Ended operations are still active at the machine. */
export interface AwaitsStillActive {
  readonly older: StillActiveWait
  readonly signal: string
}

/** Begins an operation that belongs to this job, unless an older operation is still active at its machine. */
export const enterOperation = (ctx: JobContext, operationId: string): Promise<Entered | AwaitsStillActive> =>
  ctx.lateFencedTransaction(async (tx): Promise<Entered | AwaitsStillActive> => {
    const asked = await findOperation(tx, operationId)
    // The machine is locked first, as everywhere else: another order could deadlock.
    const machine = asked && (await lockMachine(tx, asked.machineId))
    const mine = await lockOperationOfJob(tx, { operationId, jobId: ctx.job.id })
    if (!mine || !machine) throw movedOn(operationId)
    const older = await awaitStillActive(tx, { operationId, machine, actor: actorOf(ctx) })
    if (older) return { older, signal: settledSignal(machine.id) }
    const over = (await findOpenOperations(tx, machine.id)).filter(({ state }) => hasEnded(state))
    if (over.length > 0)
      await settleOperations(
        tx,
        over.map(({ id }) => id),
      )
    const target = await loadSiteById(tx, machine.targetId)
    if (!target || machine.goneAt !== null) throw gone(machine)
    requireTrusted(target)
    await requireMayRun(tx, mine, machine)
    return { ctx, operation: mine, machine, target }
  })

/** Another job has the operation, or the operation has ended: there is nothing to do. */
export const movedOn = (operationId: string): DroverError =>
  new DroverError({
    code: 'operation-moved-on',
    class: 'permanent',
    message: `Operation ${operationId} is not this job's any more.`,
    remedy: 'Nothing is to be done: see the operation.',
  })

/** The operation was requested before a migration took the machine: now only that migration may start it. */
const requireMayRun = async (tx: Tx, { kind }: Entered['operation'], machine: MachineRow): Promise<void> => {
  const source = await findSourceEntry(tx, machine)
  const code = whyNotStarted(kind, source)
  if (code === undefined) return
  const { title, remedy } = operationReasons[code]
  throw new DroverError({
    code,
    class: 'conflict',
    remedy,
    message: `${kind} of ${machine.name}: ${title}. See ${source?.entryId}.`,
    detail: { blocker: source?.entryId ?? null },
  })
}

const gone = ({ id, name }: MachineRow): DroverError =>
  new DroverError({
    code: 'machine-gone',
    class: 'permanent',
    message: `${name} (${id}) is gone from its target.`,
    remedy: operationReasons['machine-gone'].remedy,
  })
