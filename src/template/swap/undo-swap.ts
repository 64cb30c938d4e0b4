import { z } from 'zod'
import type { Tx } from '../../../db/client.ts'
import type { TemplateEvent } from '../../domain/template/state.ts'
import { decideSwap, isTaskStep, type SwapSeen, swapTarget } from '../../domain/template/swap-step.ts'
import { asDroverError, DroverError, type RecordedError } from '../../errors.ts'
import { awaitTasks } from '../../ledger/ended-task.ts'
import { callBy, type JobCall, type UndoContext, type Undoer } from '../../ledger/job.ts'
import { saidNo } from '../../platforms/ports/platform-error.ts'
import type { TemplatesPort } from '../../platforms/ports/templates.ts'
import { type Look, lookAtFolder } from './look.ts'
import { recordLook } from './record.ts'
import { freshSwap, type PendingTask } from './swap-record.ts'
import type { SwapRows } from './swap-rows.ts'
import { taskKind, taskOfStep } from './swap-task.ts'
import { loadSwap, type SwapWork } from './swap-work.ts'
import { templatesOf } from './templates-of.ts'

const undoSchema = z.object({ template_id: z.string() })
const callMs = 30_000
const mostSteps = 20

/**
 * After a swap without success the same table corrects the names, with the request counted as refused. So a cancelled
 * job leaves a name that resolves, and no leftovers. If another job is working on the template, that job does it.
 */
export const undoSwap =
  (rows: SwapRows): Undoer =>
  async (undoing) => {
    const { effect, db } = undoing
    const { template_id: templateId } = undoSchema.parse(effect.undo)
    const { jobId } = effect
    if (await rows.isAnotherAt(db, { templateId, jobId })) return
    // A running task is about to change the folder.
    if (await rows.hasOpenTask(db, { jobId, kind: taskKind })) throw taskUnderWay(effect.platform)
    const work = await loadSwap(rows, db, templateId)
    if (!work) return
    await templatesOf(rows, undoing, work.target.id, (templates) =>
      putRight(undoing, templates, work).catch(async (error: unknown) => {
        // A conflict is shown to people; the undo is tried again until it is resolved.
        if (asDroverError(error).class === 'conflict')
          await undoing.fenced((tx) => settleTemplate(tx, work, { event: 'refuse', actor: `job/${jobId}` }))
        throw error
      }),
    )
  }

const putRight = async (undoing: UndoContext, templates: TemplatesPort, work: SwapWork): Promise<void> => {
  const { effect, db, clock, fenced } = undoing
  const base = callBy(undoing, `${effect.id}/undo/${effect.attempts}`, callMs)
  const actor = `job/${effect.jobId}`
  let promotion: SwapSeen['promotion'] = 'open'
  const look = async () => {
    const seen = await lookAtFolder({ db, call: base, templates, work, importing: null })
    return { look: seen, step: decideSwap({ ...seen.seen, inputs: 'refused', promotion }) }
  }
  for (let steps = 0; steps < mostSteps; steps += 1) {
    const { look: seen, step } = await look()
    const recorded = { work, look: seen, record: freshSwap, jobId: effect.jobId, actor, now: clock.now() }
    await fenced((tx) => recordLook(tx, recorded))
    if (!isTaskStep(step)) {
      await fenced((tx) => settleTemplate(tx, work, { look: seen, actor }))
      return
    }
    const task = taskOfStep(step, seen, { work, inputs: 'refused' })
    const call = { ...base, name: `${base.name}/${steps}-${step}/${task.ref}` }
    await awaitTasksOn(templates, call, task)
    // The awaited tasks may have changed the folder.
    const now = await look()
    if (now.step !== step || now.look.found[swapTarget[step]]?.ref !== task.ref) continue
    await doTask(templates, call, task).catch((error: unknown) => {
      if (step !== 'promote' || !saidNo(error)) throw error
      promotion = 'refused'
    })
  }
  throw taskUnderWay(effect.platform)
}

const awaitTasksOn = (templates: TemplatesPort, call: JobCall, { ref, to }: PendingTask): Promise<void> =>
  awaitTasks(templates, call, {
    machine: ref,
    verb: to === null ? 'destroy' : 'rename',
    begun: [{ name: call.name, taskId: null }],
  })

const doTask = async (templates: TemplatesPort, call: JobCall, { ref, to }: PendingTask): Promise<void> => {
  call.confirm()
  const handle =
    to === null ? await templates.destroyTemplate(call, ref) : await templates.renameTemplate(call, ref, to)
  await handle.wait(call)
}

/** The event of a template whose swap was given up. */
const eventOf = ({ seen }: Look, error: RecordedError | null): TemplateEvent => {
  if (seen.production === 'stranger' || error?.class === 'conflict') return 'refuse'
  return seen.production === 'absent' ? 'lose' : 'keep'
}

const settleTemplate = async (
  tx: Tx,
  { rows, template: { id } }: SwapWork,
  {
    actor,
    ...by
  }: { readonly actor: string } & ({ readonly look: Look } | { readonly event: TemplateEvent }),
): Promise<void> => {
  const template = await rows.lockTemplateById(tx, id)
  await rows.dropBegunReplicas(tx, id)
  if (template?.state !== 'swapping') return
  const { error } = template
  await rows.moveTemplate(tx, template, {
    event: 'event' in by ? by.event : eventOf(by.look, error),
    reason: error?.code ?? 'given-up',
    message: error?.message ?? 'The swap was given up before it was done.',
    actor,
    error,
  })
}

const taskUnderWay = (platform: string): DroverError =>
  new DroverError({
    code: 'task-under-way',
    class: 'transient',
    message: `A task of the swap may still be at work on ${platform}: the names are corrected after its end.`,
    remedy: 'Nothing to do: Drover looks again. If the error stays, check the tasks of the platform.',
  })
