import { z } from 'zod'
import { ownedImage, shelfName } from '../../domain/template/names.ts'
import { decideSwap, type SwapTaskStep, swapTarget } from '../../domain/template/swap-step.ts'
import { awaitTaskOf } from '../../ledger/ended-task.ts'
import { callBy, type JobCall, type JobContext, type Undoer } from '../../ledger/job.ts'
import { runTask, type TaskEnd } from '../../ledger/platform-task.ts'
import { again } from '../../platforms/ports/bounded-wait.ts'
import type { TaskVerb } from '../../platforms/ports/task.ts'
import type { TemplateFacts, TemplatesPort } from '../../platforms/ports/templates.ts'
import { type Look, lookAtFolder } from './look.ts'
import { type PendingTask, readSwap, type SwapRecord, withSwap, writeSwap } from './swap-record.ts'
import type { SwapRows } from './swap-rows.ts'
import { loadSwap, type SwapWork } from './swap-work.ts'
import { templatesOf } from './templates-of.ts'

/** Effects of this kind are platform tasks of a swap. Their undo only waits for the end of the task. */
export const taskKind = 'template-task'

/** How long one turn waits for a task. */
const turnMs = 20_000

export interface SwapTurn {
  readonly ctx: JobContext
  readonly templates: TemplatesPort
  readonly work: SwapWork
}

export const lookAgain = (
  { ctx, templates, work }: SwapTurn,
  call: JobCall = callBy(ctx, 'look', 30_000),
): Promise<Look> => {
  const importing = readSwap(ctx).importing?.image ?? null
  return lookAtFolder({ db: ctx.db, call, templates, work, importing })
}

/** The task of a step, for the object that the look has found. */
export const taskOfStep = (
  step: SwapTaskStep,
  look: Look,
  of: { readonly work: SwapWork; readonly inputs: PendingTask['inputs'] },
): PendingTask => {
  const object = look.found[swapTarget[step]]
  if (!object) throw new Error(`There is nothing for the step ${step}.`)
  const { work, inputs } = of
  return {
    step,
    ref: object.ref,
    to: newName(step, object, { look, work }),
    version: work.version.number,
    inputs,
  }
}

const newName = (
  step: SwapTaskStep,
  object: TemplateFacts,
  { look, work }: { readonly look: Look; readonly work: SwapWork },
): string | null => {
  switch (step) {
    case 'stage':
      return work.names.temp
    case 'retire':
      return work.names.old
    case 'promote':
    case 'restore':
      return work.names.production
    case 'shelve-temp':
    case 'shelve-old':
      return freeShelfName(object, look, work)
    case 'discard-production':
    case 'discard-temp':
    case 'discard-old':
      return null
  }
}

/** The shelf name of the object's image; if another object has that name, a name derived from the ref as well. */
const freeShelfName = (
  { ref, owner }: TemplateFacts,
  look: Look,
  { template: { folder }, installation }: SwapWork,
): string => {
  const imageId = ownedImage(owner, installation) ?? ''
  const name = shelfName({ imageId, folder })
  const isTaken = look.all.some((other) => other.name === name && other.ref !== ref)
  return isTaken ? shelfName({ imageId: `${imageId}/${ref}`, folder }) : name
}

/** Goes on with the task that is recorded, as far as one turn can. Its end is recorded with it. */
export const runSwapTask = (turn: SwapTurn, task: PendingTask): Promise<TaskEnd> => {
  const { ctx, templates, work } = turn
  const { round } = readSwap(ctx)
  const verb: TaskVerb = task.to === null ? 'destroy' : 'rename'
  return runTask(ctx, {
    part: `${round}-${task.step}`,
    kind: taskKind,
    undo: { target_id: work.target.id, ref: task.ref, verb },
    platform: work.target.name,
    tasks: templates,
    machine: task.ref,
    verb,
    turnMs,
    checkpoint: withSwap(ctx, { task, ...gapBegins(ctx, task) }),
    record: {
      read: () => ({ failed: 0, ended: false, result: null }),
      // A failed task has ended, too: the folder is looked at before anything else is requested.
      write: ({ ended }) =>
        writeSwap(ctx, { task: null, round: round + 1, ...(ended ? afterTask(ctx, task) : {}) }),
    },
    begin: async (call) => {
      if (!(await isStillNext(turn, task, call))) return undefined
      // The lease may have ended during the look.
      ctx.confirm()
      return task.to === null
        ? templates.destroyTemplate(call, task.ref)
        : templates.renameTemplate(call, task.ref, task.to)
    },
    made: async (call) => {
      const found = await again(call, () => templates.template(call, task.ref))
      const isDone = task.to === null ? !found.found : found.found && found.value.name === task.to
      return isDone ? { found: true, value: null } : { found: false }
    },
  })
}

/** The gap counts from before the request, so the recorded gap is never shorter than the real gap. */
const gapBegins = (ctx: JobContext, { step }: PendingTask): Partial<SwapRecord> =>
  step === 'retire' ? { gap_from: readSwap(ctx).gap_from ?? ctx.clock.now() } : {}

const afterTask = (ctx: JobContext, { step }: PendingTask): Partial<SwapRecord> => {
  const { gap_from: from, gap_ms: before } = readSwap(ctx)
  if (step === 'discard-temp' || step === 'shelve-temp') return { importing: null }
  if ((step !== 'promote' && step !== 'restore') || from === null) return {}
  return { gap_from: null, gap_ms: before + Math.max(0, ctx.clock.now() - from) }
}

/** Decides again right before the call: a task is requested only if a fresh look leads to the same step. */
const isStillNext = async (turn: SwapTurn, task: PendingTask, call: JobCall): Promise<boolean> => {
  const work = await loadSwap(turn.work.rows, turn.ctx.db, turn.work.template.id)
  if (work?.version.number !== task.version || work.template.jobId !== turn.ctx.job.id) return false
  const look = await lookAgain({ ...turn, work }, call)
  const { refused } = readSwap(turn.ctx)
  const step = decideSwap({
    ...look.seen,
    inputs: task.inputs,
    promotion: refused === null ? 'open' : 'refused',
  })
  return step === task.step && look.found[swapTarget[task.step]]?.ref === task.ref
}

const undoSchema = z.object({ target_id: z.string(), ref: z.string(), verb: z.enum(['rename', 'destroy']) })

/** A task is not reverted: after its end, the undo of the swap corrects the names. */
export const undoSwapTask =
  (rows: SwapRows): Undoer =>
  async (undoing) => {
    const { target_id: targetId, ref: machine, verb } = undoSchema.parse(undoing.effect.undo)
    const call = callBy(undoing, `${undoing.effect.id}/undo`, 30_000)
    await templatesOf(rows, undoing, targetId, (templates) =>
      awaitTaskOf(templates, call, { effect: undoing.effect, machine, verb }),
    )
  }
