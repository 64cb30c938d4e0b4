import { z } from 'zod'
import type { SiteRow } from '../../../db/schema/inventory.ts'
import { type Pauses, pauseMs } from '../../domain/job/bounded-wait.ts'
import { DroverError } from '../../errors.ts'
import type { JobContext } from '../../ledger/job.ts'
import { runTask } from '../../ledger/platform-task.ts'
import type { TaskRecord } from '../../ledger/task-record.ts'
import type { Call } from '../../platforms/ports/call.ts'
import { isUnsupported, PlatformError, saidNo } from '../../platforms/ports/platform-error.ts'
import { type Platform, portOf } from '../../platforms/ports/ports.ts'
import type { PowerFacts } from '../../platforms/ports/power.ts'
import type { TaskHandle, TaskVerb } from '../../platforms/ports/task.ts'
import {
  nextPowerStep,
  type PowerAsked,
  type PowerDecision,
  type PowerProgress,
  type PowerStep,
} from './power-step.ts'

export interface PowerTask {
  readonly ctx: Omit<JobContext, 'transaction'>
  readonly site: SiteRow
  readonly platform: Platform
  readonly ref: string
  readonly asked: Omit<PowerAsked, 'booting'>
  /** Whether the machine was started recently; used when its guest does not answer. */
  readonly isBooting?: () => Promise<boolean>
  /**
   * Called right before each call that starts the machine: throws when the machine must not be started, see
   * start-guard.ts. `never`: the request starts nothing.
   */
  readonly mayStart: (() => Promise<void>) | 'never'
  /** Tells this power change from others of the same job; part of every name. */
  readonly part: string
  /**
   * What to undo when the job ends early; null: nothing, the power change is the whole job. The step and the boot that
   * it ends (`boot_id`) are added to `with`.
   */
  readonly undo: { readonly kind: string; readonly with: Readonly<Record<string, unknown>> } | null
  /** The most tasks that may fail; not given: as many as the job has tries. */
  readonly most?: number
}

export type PowerOutcome =
  | { readonly type: 'done'; readonly seen: PowerFacts }
  /** Look again after this time. */
  | { readonly type: 'wait'; readonly forMs: number; readonly forWhat: string }

const storedProgress = z.object({
  steps: z.array(z.enum(['start', 'shutdown', 'stop', 'reset'])),
  waitedMs: z.number(),
  bootId: z.string(),
  deaf: z.boolean(),
  wasReset: z.boolean().default(false),
  /** Failed tasks: each retry has a new name. */
  failed: z.number(),
})
type Stored = z.infer<typeof storedProgress>

const fresh: Stored = { steps: [], waitedMs: 0, bootId: '', deaf: false, wasReset: false, failed: 0 }

const lookMs = 2_000
/** A slow guest is looked at less often; the delay in noticing is a tenth of the time taken. */
const pauses: Pauses = { shortestMs: lookMs, longestMs: 10_000, share: 1 / 10 }
const callMs = 30_000

/**
 * Brings a machine's power to the requested state, as far as one turn can: looks, decides, acts, records. Safe to
 * continue after a crash between any two lines; a started task is found again and not started twice.
 */
export const powerMachine = async (task: PowerTask): Promise<PowerOutcome> => {
  const { ctx, asked } = task
  let progress = readProgress(task)
  // A step that a crash has cut between its record and its call is done now; a step that was done is recognised.
  const last = progress.steps.at(-1)
  const { failed } = progress
  if (last) progress = await take(task, progress, last)
  for (;;) {
    ctx.safePoint()
    // A task is still running; decide again when it ends.
    if (progress.failed > failed)
      return { type: 'wait', forMs: lookMs, forWhat: 'the machine to come to rest' }
    const seen = await look(task)
    const booting = progress.deaf && (await task.isBooting?.()) === true
    const decision = nextPowerStep({ ...asked, booting }, progress, seen)
    if (decision.type === 'done') return { type: 'done', seen }
    if (decision.type === 'refuse') throw refused(decision)
    if (decision.type === 'wait') {
      const forMs = pauseMs(pauses, progress.waitedMs)
      await record(task, { ...progress, waitedMs: progress.waitedMs + forMs })
      return { type: 'wait', forMs, forWhat: decision.forWhat }
    }
    const first = progress.steps.length === 0 && progress.failed === 0
    // A machine that could not be started again is not switched off.
    if (first && asked.verb === 'restart') await askMayStart(task)
    const bootId = first ? seen.boot_id : progress.bootId
    progress = { ...progress, steps: [...progress.steps, decision.step], waitedMs: 0, bootId }
    await record(task, progress)
    progress = await take(task, progress, decision.step)
  }
}

const readProgress = ({ ctx, part }: PowerTask): Stored => {
  const parsed = storedProgress.safeParse(ctx.checkpointed?.[part])
  return parsed.success ? parsed.data : fresh
}

const record = ({ ctx, part }: PowerTask, progress: Stored): Promise<void> =>
  ctx.checkpoint({ ...ctx.checkpointed, [part]: progress })

const callOf = ({ ctx }: PowerTask, name: string): Call => ({
  signal: ctx.signal,
  timeoutMs: callMs,
  name,
})

const look = async (task: PowerTask): Promise<PowerFacts> => {
  const found = await portOf(task.platform, 'power').power(callOf(task, 'look'), task.ref)
  if (found.found) return found.value
  throw new DroverError({
    code: 'instance-absent',
    class: 'permanent',
    message: `${task.site.name} has no machine ${task.ref} any more.`,
    remedy: 'Sync the source, then look for the instance.',
  })
}

/** Does one step, once over all tries, and waits a while for the platform's task. */
const take = async (task: PowerTask, progress: Stored, step: PowerStep): Promise<Stored> => {
  const { ctx, site, part, ref } = task
  // Repeated only if the failed task has not taken effect after all: a guest is not reset twice.
  if (progress.failed > 0 && (await hasHappened(task, step, progress))) return progress
  const { counted, counter } = countIn(task, progress)
  try {
    const end = await runTask(ctx, {
      part: `${part}/${step}`,
      kind: task.undo?.kind ?? 'instance-power',
      undo: task.undo && { ...task.undo.with, step, boot_id: progress.bootId },
      platform: site.name,
      tasks: portOf(task.platform, 'power'),
      machine: ref,
      verb: verbOf[step],
      begin: (call) => begin(task, step, call),
      made: async () =>
        (await hasHappened(task, step, progress)) ? { found: true, value: null } : { found: false },
      // The state of the machine decides what is requested next.
      repeat: 'never',
      ...(task.most === undefined ? {} : { most: task.most }),
      turnMs: lookMs * 2,
      record: counter,
    })
    if (end.type === 'failed') throw end.error
    // The reset was not possible: the machine was just going off or coming on.
    if (step === 'reset' && end.type === 'unknown' && end.taskId === null)
      return progress.failed < missesMost ? await missed(task, progress) : progress
    return { ...counted(), wasReset: step === 'reset' && end.type === 'ended' && end.byWord, deaf: false }
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error
    if (step === 'shutdown' && (saidNo(error) || isUnsupported(error))) {
      const deaf = { ...progress, deaf: true }
      await record(task, deaf)
      return deaf
    }
    const failed = counted().failed > progress.failed
    if (failed && error.code === 'platform-wrong-state' && progress.failed < missesMost)
      return await missed(task, progress)
    throw error
  }
}

/** Failed tasks are counted over all steps of a change; the machine shows whether a step has ended. */
const countIn = (task: PowerTask, progress: Stored) => {
  let now = progress
  const counter: TaskRecord = {
    read: () => ({ failed: now.failed, ended: false, result: null }),
    write: async ({ failed }) => {
      if (failed === now.failed) return
      now = { ...now, failed }
      await record(task, now)
    },
  }
  return { counter, counted: () => now }
}

/** A platform whose answers contradict its refusals is trusted only this often. */
const missesMost = 5

/** The machine changed before the step: the step is removed and the machine is looked at again. */
const missed = async (task: PowerTask, progress: Stored): Promise<Stored> => {
  const next = { ...progress, steps: progress.steps.slice(0, -1), failed: progress.failed + 1 }
  await record(task, next)
  return next
}

const wantedState: Readonly<Record<PowerStep, PowerFacts['state']>> = {
  start: 'on',
  shutdown: 'off',
  stop: 'off',
  reset: 'on',
}

/** The verb of a step's task, by which platforms tell tasks apart. */
export const verbOf: Readonly<Record<PowerStep, TaskVerb>> = {
  start: 'start',
  shutdown: 'shutdown',
  stop: 'stop',
  reset: 'restart',
}

/** Whether the machine is in the state that the step leads to. */
const hasHappened = async (task: PowerTask, step: PowerStep, progress: PowerProgress): Promise<boolean> => {
  const seen = await look(task)
  if (seen.state !== wantedState[step]) return false
  return step !== 'reset' || (progress.bootId !== '' && seen.boot_id !== progress.bootId)
}

const begin = async (task: PowerTask, step: PowerStep, call: Call): Promise<TaskHandle | undefined> => {
  const power = portOf(task.platform, 'power')
  const verbs: Readonly<Record<PowerStep, () => Promise<TaskHandle>>> = {
    start: () => power.start(call, task.ref),
    shutdown: () => power.shutdownGuest(call, task.ref),
    stop: () => power.stop(call, task.ref),
    reset: () => power.restart(call, task.ref),
  }
  if (wantedState[step] === 'on') await askMayStart(task)
  try {
    return await verbs[step]()
  } catch (error) {
    // Somebody else was faster: the next look decides.
    if (error instanceof PlatformError && error.code === 'platform-wrong-state') return undefined
    throw error
  }
}

/** The guard's look takes time, so the lease is checked after it. */
const askMayStart = async ({ mayStart, ctx, asked }: PowerTask): Promise<void> => {
  if (mayStart === 'never') throw new Error(`A ${asked.verb} was about to start a machine.`)
  await mayStart()
  ctx.confirm()
}

const refused = (decision: Extract<PowerDecision, { type: 'refuse' }>): DroverError =>
  new DroverError({
    code: decision.code,
    class: 'conflict',
    message: decision.message,
    remedy: 'Look inside the guest, or ask again with force, which pulls the plug.',
  })
