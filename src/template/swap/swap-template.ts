import { endsTurn, type SwapEnd } from '../../domain/template/plan-swap.ts'
import {
  decideSwap,
  isTaskStep,
  type SwapSeen,
  type SwapStep,
  swapSteps,
} from '../../domain/template/swap-step.ts'
import { DroverError, FencedError, type RecordedError, recordError } from '../../errors.ts'
import { requireTrusted } from '../../inventory/connection/connectivity.ts'
import { actorOf, done, type JobContext, type Outcome, waitFor } from '../../ledger/job.ts'
import { portOf } from '../../platforms/ports/ports.ts'
import { endSwap, givenUp, nameTaken } from './end-swap.ts'
import { importToTemp } from './import-to-temp.ts'
import type { Look } from './look.ts'
import { inSwap, noteStep, recordLook } from './record.ts'
import { readSwap, writeSwap } from './swap-record.ts'
import type { SwapRows } from './swap-rows.ts'
import { lookAgain, type SwapTurn, taskOfStep } from './swap-task.ts'
import { findLiveImage, type ImportImage, loadSwap, type SwapWork } from './swap-work.ts'
import { claimShelf, endTask } from './take-step.ts'
import { type Validated, validateSwap } from './validate.ts'

/** The effect of the whole swap. Its undo corrects the names, whatever task was running. */
export const swapKind = 'template-swap'

/** More steps than any swap takes: a platform that confirms tasks without doing them is tried again later. */
const mostSteps = 40
const imageWaitMs = 15_000
const gapWaitMs = 2_000

/**
 * One turn of a swap: looks at the folder, reads the next step from the table, takes the step, and looks again. A step
 * depends only on the look, so the swap continues after a crash at any point.
 */
export const swapTemplate = async (
  ctx: JobContext,
  templateId: string,
  { importImage, rows }: SwapMeans,
): Promise<Outcome> => {
  const work = await loadSwap(rows, ctx.db, templateId)
  if (!work) return done({ ended: 'no-template' })
  if (!isItsJob(ctx, work)) return notItsJob
  requireTrusted(work.target)
  return ctx.usePlatform(work.target, async (platform) => {
    const templates = portOf(platform, 'templates')
    try {
      const effectId = await begin(ctx, work)
      return await takeSteps({ ctx, templates, work }, { importImage, effectId })
    } catch (error) {
      return afterTrouble(ctx, work, error)
    }
  })
}

/** Only the newest job of a template acts on it. A job that a person created directly does nothing. */
const isItsJob = (ctx: JobContext, { template }: SwapWork): boolean => template.jobId === ctx.job.id

const notItsJob: Outcome = done({ ended: 'another-job' })

export interface SwapMeans {
  readonly importImage: ImportImage
  readonly rows: SwapRows
}

/** From here on, every unsuccessful end of the job corrects the names by the undo of this effect. */
const begin = async (ctx: JobContext, work: SwapWork): Promise<string> => {
  const { rows, template, version, target } = work
  const { id } = await ctx.effect({
    kind: swapKind,
    platform: target.name,
    name: `${ctx.job.id}/swap`,
    undo: { template_id: template.id },
    observe: async () => ({ found: true }),
    act: async () => undefined,
  })
  if (template.state === 'live' && template.versionLive === version.number) return id
  await ctx.lateFencedTransaction(async (tx) => {
    const locked = await rows.lockTemplateById(tx, template.id)
    if (locked) await inSwap(tx, work, locked, actorOf(ctx))
  })
  return id
}

interface Means {
  readonly importImage: ImportImage
  readonly effectId: string
}

const takeSteps = async (begun: SwapTurn, means: Means): Promise<Outcome> => {
  const { ctx } = begun
  let checked: { readonly version: number; readonly result: Validated } | undefined
  for (let steps = 0; steps < mostSteps; steps += 1) {
    ctx.safePoint()
    const work = (await loadSwap(begun.work.rows, ctx.db, begun.work.template.id)) ?? begun.work
    if (!isItsJob(ctx, work)) return notItsJob
    const turn = { ...begun, work }
    const { task, refused } = readSwap(ctx)
    if (task) {
      const wait = await endTask(turn, task)
      if (wait) return wait
      continue
    }
    const look = await lookAgain(turn)
    const validated = checked?.version === work.version.number ? checked.result : undefined
    const seen: SwapSeen = {
      ...look.seen,
      inputs: validated?.inputs ?? 'unseen',
      promotion: refused === null ? 'open' : 'refused',
    }
    const step = decideSwap(seen)
    await writeDown(turn, look, step)
    if (step === 'validate') checked = { version: work.version.number, result: await validate(turn) }
    else if (endsTurn(step)) return endTurn(turn, { look, step, validated })
    else {
      const outcome = await act(turn, { look, step, seen, ...means })
      if (outcome) return outcome
    }
  }
  throw tooManySteps(begun.work)
}

const writeDown = (turn: SwapTurn, look: Look, step: SwapStep): Promise<void> => {
  const { ctx, work } = turn
  const seen = {
    work,
    look,
    record: readSwap(ctx),
    jobId: ctx.job.id,
    actor: actorOf(ctx),
    now: ctx.clock.now(),
  }
  return ctx.lateFencedTransaction(async (tx) => {
    await recordLook(tx, seen)
    await noteStep(tx, work, step)
  })
}

const validate = async ({ ctx, work }: SwapTurn): Promise<Validated> => {
  const validated = validateSwap(work, await findLiveImage(ctx.db, work))
  const { number } = work.version
  if (validated.inputs === 'good' && readSwap(ctx).begun?.version !== number)
    await writeSwap(ctx, { begun: { version: number, at: ctx.clock.now() }, gap_ms: 0, refused: null })
  return validated
}

interface Acting extends Means {
  readonly look: Look
  readonly step: SwapStep
}

interface Ending {
  readonly look: Look
  readonly step: SwapEnd
  readonly validated: Validated | undefined
}

const act = async (
  turn: SwapTurn,
  { look, step, seen, importImage, effectId }: Acting & { readonly seen: SwapSeen },
): Promise<Outcome | undefined> => {
  if (step === 'import') return void (await importToTemp(turn, importImage))
  if (!isTaskStep(step)) throw new Error(`Nothing is to be done for ${step}.`)
  if (step === 'stage' && !(await claimShelf(turn, look))) return undefined
  const task = taskOfStep(step, look, { work: turn.work, inputs: seen.inputs })
  if (look.seen.production !== 'wanted') return endTask(turn, task)
  try {
    return await endTask(turn, task)
  } catch (error) {
    // The name points at the wanted image: leftovers that cannot be removed are owed, and the swap succeeds.
    if (!isTrouble(turn.ctx, error)) throw error
    await writeSwap(turn.ctx, { task: null, round: readSwap(turn.ctx).round + 1 })
    return endSwap(turn, { look, owed: { effectId, error: recordError(error) } })
  }
}

const endTurn = async (turn: SwapTurn, { look, step, validated }: Ending): Promise<Outcome> => {
  const { ctx, work } = turn
  switch (step) {
    case 'done':
      return endSwap(turn, { look })
    case 'wait-for-image':
      return waitFor({
        reason: 'image-imports',
        detail: `Waits for the end of the import of ${work.image.name}.`,
        forMs: imageWaitMs,
      })
    case 'conflict':
      throw nameTaken(work, look.strangers)
    case 'give-up': {
      const { refused } = readSwap(ctx)
      await writeSwap(ctx, { refused: null })
      throw givenUp(work, refused)
    }
    case 'refuse':
      throw validated?.inputs === 'refused' ? validated.error : new Error(`${swapSteps[step]} is no end.`)
  }
}

/** Whether the error is a failure of the work, not the end of the lease or of the process. */
const isTrouble = (ctx: JobContext, error: unknown): error is DroverError =>
  error instanceof DroverError && !(error instanceof FencedError) && !ctx.signal.aborted

/** While the name points at nothing, the job retries soon, and the retry is not counted as a try. */
const afterTrouble = async (
  ctx: JobContext,
  { rows, template }: SwapWork,
  thrown: unknown,
): Promise<Outcome> => {
  if (!isTrouble(ctx, thrown)) throw thrown
  const error = withRefusal(thrown, readSwap(ctx).refused)
  await ctx.lateFencedTransaction((tx) => rows.noteTemplateTrouble(tx, template.id, recordError(error)))
  const passes = error.class === 'transient' || error.class === 'environment'
  if (!passes || readSwap(ctx).gap_from === null) throw error
  return waitFor({
    reason: 'name-unresolved',
    detail: `${template.production} points at nothing until the platform answers: ${error.message}`,
    forMs: gapWaitMs,
  })
}

/** If the way back fails as well, the message also has the first error. */
const withRefusal = (error: DroverError, refused: RecordedError | null): DroverError =>
  refused === null || refused.message === error.message
    ? error
    : new DroverError(
        { ...recordError(error), message: `${error.message} Before that: ${refused.message}` },
        { cause: error },
      )

const tooManySteps = ({ template }: SwapWork): DroverError =>
  new DroverError({
    code: 'template-restless',
    class: 'transient',
    message: `The swap of ${template.name} was not finished after ${mostSteps} steps: its objects change without Drover, or stay as they are although the platform confirms the tasks.`,
    remedy: 'The swap is tried again. If this repeats, find out who else changes the folder on the platform.',
  })
