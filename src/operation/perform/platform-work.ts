import { z } from 'zod'
import { DroverError } from '../../errors.ts'
import type { Call } from '../../platforms/call.ts'
import { mayHaveHappened, PlatformError } from '../../platforms/platform-error.ts'
import type { Found, TaskHandle, TasksOf, TaskVerb } from '../../platforms/ports/task.ts'
import type { Performance, PerformWait } from '../performer.ts'
import { callOf } from './look-at-machine.ts'
import { note, unlessTooMany } from './patient.ts'

/** One thing that a platform does by itself once it was asked, as an effect of an operation. */
export interface PlatformWork {
  /** Tells it from what else the operation has done; part of its name. */
  readonly part: string
  readonly tasks: TasksOf
  readonly verb: TaskVerb
  readonly undo: { readonly kind: string; readonly with: Readonly<Record<string, unknown>> }
  readonly begin: (call: Call) => Promise<TaskHandle>
  /** What it has made, as the thing itself tells it: platforms forget their tasks. */
  readonly made: (call: Call) => Promise<Found<string | null>>
  /** For people. */
  readonly doing: string
  /** Once it was asked for it can only be ended. */
  readonly pastReturn: boolean
  /** Done again it would undo what has happened since: only when it is certain that it was not done. */
  readonly once?: true
  /** From where to where it brings the operation's progress. */
  readonly span: readonly [number, number]
}

export type WorkEnd =
  /** With what it made. */
  { readonly type: 'ended'; readonly result: string | null } | PerformWait

const storedWork = z.object({
  /** Tasks that failed: each is begun anew under another name. */
  failed: z.number(),
  ended: z.boolean(),
  result: z.string().nullable(),
})
type StoredWork = z.infer<typeof storedWork>

const fresh: StoredWork = { failed: 0, ended: false, result: null }

const readStored = ({ ctx }: Performance, part: string): StoredWork => {
  const parsed = storedWork.safeParse(ctx.checkpointed?.[part])
  return parsed.success ? parsed.data : fresh
}

const store = ({ ctx }: Performance, part: string, stored: StoredWork): Promise<void> =>
  ctx.checkpoint({ ...ctx.checkpointed, [part]: stored })

/** Whether that part was asked for, or is about to be: what is seen of the machine may be its doing. */
export const hasBegunWork = ({ ctx }: Performance, part: string): boolean =>
  storedWork.safeParse(ctx.checkpointed?.[part]).success

/** Whether that part has come to its end, in this turn or an earlier one. */
export const hasEndedWork = (performance: Performance, part: string): boolean =>
  readStored(performance, part).ended

/**
 * Has it done once over all tries, as far as one turn can: asks, records, waits a little. A crash between any two lines
 * is gone on from; what was begun is found again by its name.
 */
export const doWork = async (performance: Performance, work: PlatformWork): Promise<WorkEnd> => {
  const { ctx, operation } = performance
  const stored = readStored(performance, work.part)
  if (stored.ended) return { type: 'ended', result: stored.result }
  if (!hasBegunWork(performance, work.part)) await store(performance, work.part, stored)
  const name = `${ctx.job.id}/${work.part}${stored.failed > 0 ? `/${stored.failed}` : ''}`
  if (work.pastReturn && !operation.pastReturn) await noteReturn(performance, work, true)
  const taskId = await ask(performance, work, name)
  return follow(performance, work, { name, taskId, stored })
}

const noteReturn = (performance: Performance, { doing }: PlatformWork, pastReturn: boolean): Promise<void> =>
  note(performance, { reason: 'in-progress', message: doing, pastReturn })

const ask = async (performance: Performance, work: PlatformWork, name: string): Promise<string | null> => {
  const { ctx, target } = performance
  let refused = false
  try {
    const { externalId } = await ctx.effect({
      kind: work.undo.kind,
      platform: target.name,
      name,
      undo: { ...work.undo.with },
      observe: () => observe(performance, work, name),
      act: async () => {
        // Once sent it is heard to its end, whoever calls the job off: else nobody knows what is about to be.
        const call = { ...callOf(performance, name), signal: new AbortController().signal }
        try {
          return { externalId: (await work.begin(call)).id }
        } catch (error) {
          refused = !mayHaveHappened(error)
          throw error
        }
      },
    })
    return externalId
  } catch (error) {
    // Nothing has come of it: whoever waits with it may give it up.
    if (refused && work.pastReturn) await noteReturn(performance, work, false)
    throw error
  }
}

/** Whether an earlier try has begun it. */
const observe = async (performance: Performance, work: PlatformWork, name: string) => {
  const call = callOf(performance, name)
  const found = await work.tasks.findTask(call, {
    name,
    machine: performance.machine.ref,
    verb: work.verb,
  })
  const isOurs = found.found && !found.value.byMachine
  if (isOurs && (await found.value.status(call)).state !== 'failed')
    return { found: true as const, externalId: found.value.id }
  if ((await work.made(call)).found) return { found: true as const }
  // Ours or another's, it is not begun beside it; what has come of it shows when it is over.
  if (found.found && !isOurs) throw anothers(performance, found.value.id)
  return { found: false as const }
}

const anothers = ({ machine, target }: Performance, task: string): PlatformError =>
  new PlatformError({
    code: 'platform-busy',
    failure: 'refused',
    message: `Task ${task} of ${target.name} is at work on ${machine.name}, and whose it is cannot be told.`,
    remedy: 'It is waited for. See the tasks of the target.',
    detail: { task },
  })

/** A turn is not spent on watching. */
const turnMs = 2_500
const lookMs = 1_000

interface Asked {
  readonly name: string
  readonly taskId: string | null
  readonly stored: StoredWork
}

const follow = async (performance: Performance, work: PlatformWork, asked: Asked): Promise<WorkEnd> => {
  const { name, taskId } = asked
  const call = callOf(performance, name)
  const { verb } = work
  const trace = { name, machine: performance.machine.ref, verb, ...(taskId === null ? {} : { taskId }) }
  const found = await work.tasks.findTask(call, trace)
  if (!found.found || found.value.byMachine) return withoutTask(performance, work, asked)
  try {
    return await end(performance, work, asked, await found.value.wait({ ...call, timeoutMs: turnMs }))
  } catch (error) {
    performance.ctx.signal.throwIfAborted()
    if (!(error instanceof PlatformError)) throw error
    return whatOfIt(performance, work, { ...asked, handle: found.value })
  }
}

/** The platform does not know its task any more: what there is now tells. */
const withoutTask = async (performance: Performance, work: PlatformWork, asked: Asked): Promise<WorkEnd> => {
  const made = await work.made(callOf(performance, asked.name))
  if (made.found) return end(performance, work, asked, made.value)
  const lost = forgotten(performance, asked)
  if (work.once && asked.taskId !== null) throw lost
  const last = unlessTooMany(lost, asked.stored.failed + 1)
  if (last !== lost) throw last
  await countFailure(performance, work, asked)
  const detail = `${work.doing} The platform has lost the task, and nothing has come of it: it is asked again.`
  return { type: 'wait', reason: 'in-progress', detail, forMs: lookMs }
}

const forgotten = ({ machine, operation, target }: Performance, { taskId }: Asked): DroverError =>
  new DroverError({
    code: 'outcome-unknown',
    class: 'conflict',
    message: `${target.name} has taken the ${operation.kind} of ${machine.name} on and does not know its task${taskId === null ? '' : ` ${taskId}`} any more: whether it was done cannot be told.`,
    remedy: 'Look at the machine on its target. Ask again when it is not as you want it.',
  })

/** Its watching ended, which says nothing of the task itself. */
const whatOfIt = async (
  performance: Performance,
  work: PlatformWork,
  asked: Asked & { readonly handle: TaskHandle },
): Promise<WorkEnd> => {
  const seen = await asked.handle.status(callOf(performance, asked.name))
  if (seen.state === 'succeeded') return end(performance, work, asked, seen.result)
  if (seen.state === 'failed') {
    await countFailure(performance, work, asked)
    const error = seen.error ?? new Error(`Task ${seen.id} failed and does not say why.`)
    throw unlessTooMany(error, asked.stored.failed + 1)
  }
  const [from, to] = work.span
  const progress = Math.floor(from + ((to - from) * (seen.percent ?? 0)) / 100)
  return { type: 'wait', reason: 'in-progress', detail: work.doing, forMs: lookMs, progress }
}

const end = async (
  performance: Performance,
  { part }: PlatformWork,
  { stored }: Asked,
  result: string | null,
): Promise<WorkEnd> => {
  await store(performance, part, { ...stored, ended: true, result })
  return { type: 'ended', result }
}

/** What failed did not happen: it may be given up again, and is begun under another name. */
const countFailure = async (
  performance: Performance,
  work: PlatformWork,
  { stored }: Asked,
): Promise<void> => {
  await store(performance, work.part, { ...stored, failed: stored.failed + 1 })
  if (work.pastReturn) await noteReturn(performance, work, false)
}
