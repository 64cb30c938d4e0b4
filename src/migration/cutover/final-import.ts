import { z } from 'zod'
import { listEntryDisks } from '../../../db/queries/copies/entry-disks.ts'
import { lockEntryOfJob } from '../../../db/queries/entries/entry-rows.ts'
import { durationMs } from '../../domain/text/duration.ts'
import { DroverError } from '../../errors.ts'
import { type PowerTask, powerMachine } from '../../inventory/power/power-machine.ts'
import { again } from '../../platforms/ports/bounded-wait.ts'
import { isWrongState } from '../../platforms/ports/platform-error.ts'
import { portOf } from '../../platforms/ports/ports.ts'
import type { PowerFacts } from '../../platforms/ports/power.ts'
import { type CopiedCycle, copyCycle } from '../copy/copy-cycle.ts'
import { type CopyTask, callOf, sourceOf } from '../copy/copy-task.ts'
import { requireDisks } from '../copy/require-disks.ts'
import { sourceGone } from '../copy/source-snapshot.ts'
import { noteEntry } from '../entry/entry-work.ts'
import { noteHistory } from '../entry/note-history.ts'
import { guestGivenTime, noteSourceOff, sourceStopUndo } from '../source/source-stops.ts'
import { takeBaseline } from './take-baseline.ts'

/** How often the source may be found running again before a person has to decide. */
const roundsMax = 5

const storedRound = z.object({
  at: z.int(),
  /** The claim that began the round: a round that was undone is not continued under the same names. */
  tag: z.int(),
  /** Cycles up to this number are older than the power-off. */
  after: z.int(),
  off: z.boolean(),
})
type Round = z.infer<typeof storedRound>

/** Throws when the source could not be started again after a power-off. */
export type WayBack = () => Promise<void>

/**
 * Switches the source off and copies the rest. The copy counts only if the source was off from before its start until
 * after its end: a source that ran meanwhile has written, and the copy is repeated.
 */
export const finalImport = async (task: CopyTask, wayBack: WayBack): Promise<CopiedCycle> => {
  const { ctx } = task.entryWork
  await requireDisks(task)
  await takeBaseline(task)
  let round = readRound(task) ?? (await nextRound(task, 0))
  for (;;) {
    if (round.at >= roundsMax) throw keepsRunning(task)
    await task.pace()
    const before = await powerOf(task)
    if (round.off && before.state !== 'off') {
      round = await nextRound(task, round.at + 1)
      continue
    }
    // A source that could not be started again is not switched off.
    if (before.state !== 'off' && !hasBegun(task, round)) await wayBack()
    await switchOff(task, round, before)
    if (!round.off) {
      await noteSourceOff(task.entryWork)
      await noteStop(task, round)
      round = await keepRound(task, { ...round, off: true })
    }
    const cycle = await copyWhileOff(task, round)
    if (cycle && (await powerOf(task)).state === 'off') return cycle
    ctx.safePoint()
    round = await nextRound(task, round.at + 1)
  }
}

/** Undefined: somebody started the source, and a disk outside every snapshot cannot be read while it runs. */
const copyWhileOff = async (task: CopyTask, { after }: Round): Promise<CopiedCycle | undefined> => {
  try {
    return await copyCycle(task, { after, sourceOff: true })
  } catch (error) {
    if (!isWrongState(error) || (await powerOf(task)).state === 'off') throw error
    return undefined
  }
}

const readRound = ({ entryWork: { ctx } }: CopyTask): Round | undefined => {
  const stored = storedRound.safeParse(ctx.checkpointed?.round)
  return stored.success ? stored.data : undefined
}

const nextRound = async (task: CopyTask, at: number): Promise<Round> => {
  const { ctx, entry } = task.entryWork
  const disks = await listEntryDisks(ctx.db, entry.id)
  const after = Math.max(0, ...disks.map(({ cycle }) => cycle?.n ?? 0))
  return keepRound(task, { at, tag: ctx.job.leaseEpoch, after, off: false })
}

const keepRound = async ({ entryWork: { ctx } }: CopyTask, round: Round): Promise<Round> => {
  await ctx.checkpoint({ ...ctx.checkpointed, round })
  return round
}

const partOf = ({ tag, at }: Round): string => `source-off-${tag}-${at}`

/** Whether this round has asked the source to go off. */
const hasBegun = ({ entryWork: { ctx } }: CopyTask, round: Round): boolean =>
  ctx.checkpointed?.[partOf(round)] !== undefined

/**
 * Switches the source off and waits within the turn: a job that released its slot and tokens here would queue for them
 * behind stalled work while its source is off. The duty to start the source again is recorded before the request.
 * `powerMachine` bounds the wait to twice the guest's limit.
 */
const switchOff = async (task: CopyTask, round: Round, before: PowerFacts): Promise<void> => {
  const { entryWork } = task
  const { ctx, source, batch, facts } = entryWork
  // Off already, and not by Drover: nothing is asked, and Drover will not start it.
  if (before.state === 'off' && !hasBegun(task, round)) return
  const begun = hasBegun(task, round)
  const entry = await noteEntry(
    entryWork,
    async (_, now) => ({
      sourceStoppedAt: now.sourceStoppedAt ?? now.now,
      ...(begun ? {} : guestGivenTime(now.now, entryWork)),
    }),
    'at-once',
  )
  const timeoutMs = durationMs(batch.config.guest_shutdown_limit)
  const stop: PowerTask = {
    ctx,
    site: source,
    platform: task.ends.source,
    ref: facts.ref,
    asked: { verb: 'shutdown', force: true, timeoutMs },
    mayStart: 'never',
    part: partOf(round),
    undo: sourceStopUndo({ ...entryWork, entry }, { stays: false }),
  }
  for (;;) {
    const outcome = await powerMachine(stop)
    if (outcome.type === 'done') return
    await rest(task, outcome.forMs)
  }
}

/** How soon the wait notices that the turn must end. */
const restMs = 500

const rest = async (task: CopyTask, forMs: number): Promise<void> => {
  const { signal, clock } = task.entryWork.ctx
  const until = clock.monotonicMs() + forMs
  for (let left = forMs; left > 0; left = until - clock.monotonicMs()) {
    await clock.sleep(Math.min(left, restMs), signal)
    signal.throwIfAborted()
    await task.pace()
  }
}

/** Records how long the power-off took from the first request to the guest. */
const noteStop = async ({ entryWork }: CopyTask, round: Round): Promise<void> => {
  if (round.at > 0) return
  await entryWork.ctx.transaction(async (tx) => {
    const now = await lockEntryOfJob(tx, { entryId: entryWork.entry.id, jobId: entryWork.ctx.job.id })
    if (!now?.sourceStoppedAt) return
    const tookMs = now.now.getTime() - now.sourceStoppedAt.getTime()
    await noteHistory(tx, entryWork, { phase: 'source-stop', bytes: 0, tookMs })
  })
}

/** The power of the source as it is now. Unknown throws. */
export const powerOf = async (task: CopyTask): Promise<PowerFacts> => {
  const { platform, name, ref } = sourceOf(task)
  const call = callOf(task, 'look')
  const seen = await again(call, () => portOf(platform, 'power').power(call, ref), { of: name })
  if (seen.found) return seen.value
  throw sourceGone(ref)
}

const keepsRunning = ({ entryWork }: CopyTask): DroverError =>
  new DroverError({
    code: 'source-keeps-running',
    class: 'conflict',
    message: `${entryWork.facts.name} was switched off ${roundsMax} times, and somebody started it again each time.`,
    remedy: 'Find out who starts it (high availability, a schedule, a person), then retry the entry.',
  })
