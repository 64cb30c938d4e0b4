import { v7 as uuidv7 } from 'uuid'
import { swapSteps } from '../../domain/template/swap-step.ts'
import { asDroverError, recordError } from '../../errors.ts'
import { type Wait, waitFor } from '../../ledger/job.ts'
import { saidNo } from '../../platforms/ports/platform-error.ts'
import type { Look } from './look.ts'
import { type PendingTask, readSwap, writeSwap } from './swap-record.ts'
import { runSwapTask, type SwapTurn } from './swap-task.ts'

const taskWaitMs = 1_000

/** Goes on with a task until it is over, or until the turn has watched it for long enough. A failure is thrown. */
export const endTask = async (turn: SwapTurn, task: PendingTask): Promise<Wait | undefined> => {
  const end = await runSwapTask(turn, task).catch((error: unknown) => refusal(turn, task, error))
  if (end === undefined) return undefined
  if (end.type === 'working')
    return waitFor({
      reason: 'platform-task',
      detail: `${turn.work.target.name} is at work. ${swapSteps[task.step]}`,
      forMs: taskWaitMs,
    })
  if (end.type === 'failed') await refusal(turn, task, end.error)
  return undefined
}

/** A clear no to the new object's name brings the old one back first; anything else is the trouble of this turn. */
const refusal = async ({ ctx }: SwapTurn, task: PendingTask, error: unknown): Promise<undefined> => {
  if (task.step !== 'promote' || !saidNo(error)) throw error
  const { round, task: pending } = readSwap(ctx)
  const next = pending === null ? round : round + 1
  await writeSwap(ctx, { task: null, round: next, refused: recordError(asDroverError(error)) })
  return undefined
}

/** Takes the image on the shelf for this template, before it is renamed. False: another has taken it, look again. */
export const claimShelf = ({ ctx, work }: SwapTurn, { found, replicas }: Look): Promise<boolean> => {
  const { id: templateId, targetId, folder } = work.template
  const ref = found.shelf?.ref ?? ''
  const row = replicas.get(ref)
  return ctx.lateFencedTransaction(async (tx) => {
    if (row) return work.rows.claimShelfReplica(tx, { id: row.id, templateId })
    const { imageId } = work.version
    await work.rows.recordFoundReplica(tx, { id: uuidv7(), imageId, targetId, folder, ref, templateId })
    return true
  })
}
