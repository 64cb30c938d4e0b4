import { lockOperationOfJob, noteOperation } from '../../../db/queries/operations/operation-rows.ts'
import { noteSlotWait } from '../../../db/queries/tokens/slot-wait.ts'
import { type Pauses, pauseMs } from '../../domain/job/bounded-wait.ts'
import { isSlotWait } from '../../domain/operation/admission/slot-wait.ts'
import { type OperationReason, operationReasons } from '../../domain/operation/kinds/reasons.ts'
import { DroverError } from '../../errors.ts'
import { isAbsent, type PassingTrouble, passingTrouble } from '../../platforms/ports/platform-error.ts'
import type { Capability } from '../../platforms/ports/ports.ts'
import { movedOn } from './enter-operation.ts'
import { requirePower } from './look-at-machine.ts'
import { underMachineLock } from './machine-lock.ts'
import type { Performance, Performer, PerformWait } from './performer.ts'

/** Trouble that ends by itself, or that a person can fix meanwhile: the operation waits instead of failing. */
const reasonOf: Readonly<Record<PassingTrouble, OperationReason>> = {
  full: 'host-full',
  busy: 'target-busy',
  unreachable: 'target-unreachable',
  failing: 'target-fails',
}

const waitReason = (error: DroverError): OperationReason | undefined => {
  // Another platform may run the same VM and does not answer: the operation waits for that answer.
  if (error.code === 'twin-unknown') return 'runs-elsewhere'
  const trouble = passingTrouble(error)
  return trouble && reasonOf[trouble]
}

/**
 * A kind that retries until its deadline and shows why: a full host, or a target that does not answer. An operation that
 * the target does not support is refused before anything is changed.
 */
export const retryUntilDeadline = (
  needs: readonly Capability[],
  perform: Performer['perform'],
  alsoNeeds: (performance: Performance) => readonly Capability[] = () => [],
): Performer => ({
  prepare: async (performance) => {
    const { operation, target, platform } = performance
    const lacks = [...needs, ...alsoNeeds(performance)].find((one) => !platform.capabilities.has(one))
    if (lacks !== undefined) throw cannot(operation.kind, target.name, lacks)
    return { type: 'ready' }
  },
  perform: async (performance) => {
    const outcome = await perform(performance).catch((error: unknown) => outlast(performance, error))
    if (outcome.type === 'done') return outcome
    await noteWait(performance, outcome)
    return { ...outcome, forMs: untilDeadline(performance, outcome) }
  },
})

/** Turns an error that can end by itself into a wait that shows it; throws every other error. */
export const outlast = async (performance: Performance, thrown: unknown): Promise<PerformWait> => {
  performance.ctx.signal.throwIfAborted()
  const error = isAbsent(thrown) ? await whatIsAbsent(performance, thrown) : thrown
  if (!(error instanceof DroverError)) throw error
  const reason = waitReason(error)
  if (reason === undefined) throw error
  const { title } = operationReasons[reason]
  return {
    type: 'wait',
    reason,
    detail: `${title}: ${error.message}`,
    forMs: pauseMs(pauses, performance.operation.ranMs),
  }
}

/** Whether the machine itself is absent, or only a thing that the call named. */
const whatIsAbsent = async (performance: Performance, absent: unknown): Promise<unknown> => {
  try {
    await requirePower(performance)
    return absent
  } catch (error) {
    return error
  }
}

const pauses: Pauses = { shortestMs: 1_000, longestMs: 10_000, share: 1 / 4 }

const leastMs = 200

/** No wait goes beyond a running deadline: the job has to report that the deadline has passed. */
const untilDeadline = ({ operation }: Performance, { reason, forMs }: PerformWait): number => {
  if (operation.leftMs === null || isSlotWait(reason)) return forMs
  return Math.max(leastMs, Math.min(forMs, operation.leftMs + leastMs))
}

const noteWait = async (performance: Performance, wait: PerformWait): Promise<void> => {
  const { operation } = performance
  const { reason, detail: message, progress = 0 } = wait
  const waitsForSlot = isSlotWait(reason)
  const same = operation.reason === reason && operation.message === message && operation.progress >= progress
  if (same && waitsForSlot === (operation.inLineSince !== null)) return
  await note(performance, { reason, message, progress, waitsForSlot })
}

type Noted = Parameters<typeof noteOperation>[2] & {
  /** Whether the operation waits for a slot from now on; not given: unchanged. */
  readonly waitsForSlot?: boolean
}

/** Records the reason and the progress; throws when the operation belongs to another job by now. */
export const note = (performance: Performance, { waitsForSlot, ...noted }: Noted): Promise<void> =>
  underMachineLock(performance, async (tx) => {
    const { ctx, operation } = performance
    const mine = await lockOperationOfJob(tx, { operationId: operation.id, jobId: ctx.job.id })
    if (!mine) throw movedOn(operation.id)
    await noteOperation(tx, operation.id, noted)
    if (waitsForSlot !== undefined) await noteSlotWait(tx, operation.id, waitsForSlot)
  })

/** After this many failed tasks the fault is not temporary; each failed task leaves an effect that has to be undone. */
export const mostFailures = 10

const cannot = (kind: string, target: string, lacks: Capability): DroverError =>
  new DroverError({
    code: 'unsupported' satisfies OperationReason,
    class: 'permanent',
    message: `${kind}: ${target} has no capability "${lacks}".`,
    remedy: operationReasons.unsupported.remedy,
    detail: { target, capability: lacks },
  })
