import { v7 as uuidv7 } from 'uuid'
import { swapSteps } from '../../domain/template/swap-step.ts'
import { asDroverError, recordError } from '../../errors.ts'
import { type Wait, waitFor } from '../../ledger/job.ts'
import { saidNo } from '../../platforms/ports/platform-error.ts'
import type { Look } from './look.ts'
import { type PendingTask, readSwap, writeSwap } from './swap-record.ts'
import { lookAgain, runSwapTask, type SwapTurn } from './swap-task.ts'

const taskWaitMs = 1_000

/** Continues a task until its end, or until the turn has waited long enough. A failure is thrown. */
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

/** Resolves for failures after which the folder is looked at again; throws all others. */
const refusal = async (turn: SwapTurn, task: PendingTask, error: unknown): Promise<undefined> => {
  const { ctx } = turn
  const { round, task: pending } = readSwap(ctx)
  const over = { task: null, round: pending === null ? round : round + 1 }
  // A task of an earlier job of ours has given an object this name.
  if (isNameTaken(error) && (await isNameOurs(turn, task))) await writeSwap(ctx, over)
  // The new object does not get the name: the old object gets it back first.
  else if (task.step === 'promote' && saidNo(error))
    await writeSwap(ctx, { ...over, refused: recordError(asDroverError(error)) })
  else throw error
  return undefined
}

const isNameTaken = (error: unknown): boolean => asDroverError(error).code === 'platform-name-taken'

const isNameOurs = async (turn: SwapTurn, { ref, to }: PendingTask): Promise<boolean> =>
  (await lookAgain(turn)).ours.some((object) => object.name === to && object.ref !== ref)

/**
 * Takes the object on the shelf for this template before its rename. False: another template has taken it, look
 * again.
 */
export const claimShelf = ({ ctx, work }: SwapTurn, { found, replicas }: Look): Promise<boolean> => {
  const { id: templateId, targetId, folder } = work.template
  const ref = found.shelf?.ref ?? ''
  const row = replicas.get(ref)
  return ctx.transaction(async (tx) => {
    if (row) return work.rows.claimShelfReplica(tx, { id: row.id, templateId })
    const { imageId } = work.version
    await work.rows.recordFoundReplica(tx, { id: uuidv7(), imageId, targetId, folder, ref, templateId })
    return true
  })
}
