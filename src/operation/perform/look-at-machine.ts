import { noteMachine } from '../../../db/queries/machines/machine-rows.ts'
import { type OperationReason, operationReasons } from '../../domain/operation/kinds/reasons.ts'
import { DroverError } from '../../errors.ts'
import { callBy, type JobCall } from '../../ledger/job.ts'
import { portOf } from '../../platforms/ports/ports.ts'
import type { PowerFacts } from '../../platforms/ports/power.ts'
import type { Found } from '../../platforms/ports/task.ts'
import { underMachineLock } from './machine-lock.ts'
import { noteSeen } from './note-seen.ts'
import type { Performance } from './performer.ts'

const callMs = 30_000

export const callOf = ({ ctx }: Performance, name: string): JobCall => callBy(ctx, name, callMs)

/**
 * The machine as it is now. A change is recorded at once, so that it is known whatever happens later. A completed wake
 * clears its own saved state.
 */
export const lookAtPower = async (performance: Performance): Promise<Found<PowerFacts>> => {
  const { ctx, operation, machine, platform } = performance
  const seen = await portOf(platform, 'power').power(callOf(performance, 'look'), machine.ref)
  if (!seen.found) return seen
  const { state: power, host } = seen.value
  const wakes = operation.kind === 'wake'
  const isStale = power === 'on' && machine.savedState !== null && !wakes
  if (machine.power !== power || machine.host !== host || isStale)
    await underMachineLock(performance, (tx) =>
      wakes
        ? noteMachine(tx, machine.id, { power, host })
        : noteSeen(tx, { machineId: machine.id, jobId: ctx.job.id }, { power, host }),
    )
  return seen
}

export const requirePower = async (performance: Performance): Promise<PowerFacts> => {
  const seen = await lookAtPower(performance)
  if (seen.found) return seen.value
  throw machineGone(performance)
}

export const machineGone = ({ machine, target }: Performance): DroverError =>
  new DroverError({
    code: 'machine-gone' satisfies OperationReason,
    class: 'permanent',
    message: `${target.name} has no machine ${machine.ref} (${machine.name}) any more.`,
    remedy: operationReasons['machine-gone'].remedy,
  })

/** The operation was applicable at its admission and no longer is. */
export const notForPhase = ({ operation, machine }: Performance, is: string, remedy?: string): DroverError =>
  new DroverError({
    code: 'not-for-phase' satisfies OperationReason,
    class: 'conflict',
    message: `${operation.kind}: ${machine.name} ${is}.`,
    remedy: remedy ?? operationReasons['not-for-phase'].remedy,
  })
