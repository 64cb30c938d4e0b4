import { lockOperationOfJob, noteOperation } from '../../../db/queries/operations/operation-rows.ts'
import { noteSlotWait } from '../../../db/queries/tokens/slot-wait.ts'
import { isSlotWait } from '../../domain/operation/admission/slot-wait.ts'
import { type OperationReason, operationReasons } from '../../domain/operation/kinds/reasons.ts'
import { DroverError } from '../../errors.ts'
import { isAbsent, type PlatformCode } from '../../platforms/ports/platform-error.ts'
import type { Capability } from '../../platforms/ports/ports.ts'
import { movedOn } from './enter-operation.ts'
import { requirePower } from './look-at-machine.ts'
import { underMachineLock } from './machine-lock.ts'
import type { Performance, Performer, PerformWait } from './performer.ts'

/** What passes by itself, or by somebody's hand while we wait: it is no reason to give an operation up. */
const passing: Readonly<Record<string, OperationReason>> = {
  'platform-no-capacity': 'host-full',
  'platform-busy': 'target-busy',
  'platform-unreachable': 'target-unreachable',
  'platform-timeout': 'target-unreachable',
  'platform-overloaded': 'target-unreachable',
  'platform-session-lost': 'target-unreachable',
  'platform-answer-invalid': 'target-fails',
  'platform-fault': 'target-fails',
  // The platform of the same VM elsewhere does not answer: that is what is waited for.
  'twin-unknown': 'runs-elsewhere',
} satisfies Partial<Record<PlatformCode | 'twin-unknown', OperationReason>>

/**
 * A kind whose troubles are shown as they are and outlasted until its deadline: a host without room, a target that does
 * not answer. What a target cannot do at all is refused before anything is touched.
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

/** Trouble that passes becomes a wait that shows it; anything else is thrown. */
export const outlast = async (performance: Performance, thrown: unknown): Promise<PerformWait> => {
  performance.ctx.signal.throwIfAborted()
  const error = isAbsent(thrown) ? await whatIsAbsent(performance, thrown) : thrown
  if (!(error instanceof DroverError)) throw error
  const reason = passing[error.code]
  if (reason === undefined) throw error
  const { title } = operationReasons[reason]
  return { type: 'wait', reason, detail: `${title}: ${error.message}`, forMs: pauseMs(performance) }
}

/** The machine itself, or only what it was to be given. */
const whatIsAbsent = async (performance: Performance, absent: unknown): Promise<unknown> => {
  try {
    await requirePower(performance)
    return absent
  } catch (error) {
    return error
  }
}

const shortestMs = 1_000
const longestMs = 10_000

/** The longer it has gone on, the longer the pauses; trouble that was short costs little. */
const pauseMs = ({ operation }: Performance): number =>
  Math.min(longestMs, Math.max(shortestMs, operation.ranMs / 4))

const leastMs = 200

/** No wait goes beyond a deadline that runs: somebody has to be there to say that it has passed. */
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
  /** Whether it stands in line from now on; not given: that stays. */
  readonly waitsForSlot?: boolean
}

/** Tells how it goes; throws when the operation is not this job's any more. */
export const note = (performance: Performance, { waitsForSlot, ...noted }: Noted): Promise<void> =>
  underMachineLock(performance, async (tx) => {
    const { ctx, operation } = performance
    const mine = await lockOperationOfJob(tx, { operationId: operation.id, jobId: ctx.job.id })
    if (!mine) throw movedOn(operation.id)
    await noteOperation(tx, operation.id, noted)
    if (waitsForSlot !== undefined) await noteSlotWait(tx, operation.id, waitsForSlot)
  })

/** What a target takes on and fails at so often is no trouble that passes; each leaves an effect to look after. */
export const mostFailures = 10

const cannot = (kind: string, target: string, lacks: Capability): DroverError =>
  new DroverError({
    code: 'unsupported' satisfies OperationReason,
    class: 'permanent',
    message: `${kind}: ${target} has no capability "${lacks}".`,
    remedy: operationReasons.unsupported.remedy,
    detail: { target, capability: lacks },
  })
