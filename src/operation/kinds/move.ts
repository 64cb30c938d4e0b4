import { type OperationReason, operationReasons } from '../../domain/operation/kinds/reasons.ts'
import { judgeMove, moveText } from '../../domain/operation/move/judge-move.ts'
import { DroverError } from '../../errors.ts'
import { runTask } from '../../ledger/platform-task.ts'
import type { TaskRecord } from '../../ledger/task-record.ts'
import type { MoveStatus } from '../../platforms/ports/hibernate.ts'
import { PlatformError } from '../../platforms/ports/platform-error.ts'
import { portOf } from '../../platforms/ports/ports.ts'
import type { PowerFacts } from '../../platforms/ports/power.ts'
import { callOf, notForPhase, requirePower } from '../perform/look-at-machine.ts'
import type { Performance, PerformDone, Performer, PerformWait } from '../perform/performer.ts'
import { note, outlast, retryUntilDeadline } from '../perform/retry-until-deadline.ts'
import { dropSlots, leaveLine, namedHost, seeHosts, takeHost } from './move-host.ts'
import { type HostName, type MovePlan, newPlan, readPlan, storePlan, withPlan } from './move-plan.ts'
import { operationMoveKind } from './move-undo.ts'

const lookMs = 1_000

/** Before the move begins: finds a host that would take the machine, and gets the slots of both hosts. */
const prepareMove = async (performance: Performance): Promise<PerformWait | { readonly type: 'ready' }> => {
  const seen = await requirePower(performance)
  if (seen.state !== 'on') throw notForPhase(performance, `is ${seen.state}`)
  const plan = await planOf(performance, seen)
  // Somebody else has moved the machine: there is nothing to wait for.
  if (!isAt(seen, plan.from)) return { type: 'ready' }
  return takeHost(performance, plan)
}

/**
 * The stored plan, or a new one that records where the machine is at the first look, so that later changes are
 * noticed.
 */
const planOf = async (performance: Performance, seen: PowerFacts): Promise<MovePlan> => {
  const kept = readPlan(performance)
  if (kept) return kept
  // The machine may already have left the evacuated host: it is not moved on from there, and not back.
  const plan = newPlan(await nameOf(performance, performance.operation.leaves ?? seen.host), seen.boot_id)
  await storePlan(performance, plan)
  return plan
}

/** A host by ref and name, as far as they are known. */
const nameOf = async (performance: Performance, text: string): Promise<HostName> => {
  const host = (await seeHosts(performance.ctx.db, performance)).find(
    ({ ref, name }) => ref === text || name === text,
  )
  return host ? { ref: host.ref, name: host.name } : { ref: text, name: text }
}

const isAt = ({ host }: PowerFacts, { ref, name }: HostName): boolean => host === ref || host === name

const performMove = async (performance: Performance): Promise<PerformWait | PerformDone> => {
  const seen = await requirePower(performance)
  const plan = await planOf(performance, seen)
  const left = !isAt(seen, plan.from)
  if (!plan.asked) {
    if (left && !plan.refused) return arrived(performance, plan, seen)
    if (!left && seen.state !== 'on') throw notForPhase(performance, `is ${seen.state}`)
  }
  if (!plan.to && !left) return elsewhere(performance, plan)
  // A machine that has left is asked for nothing: the intent that was refused has come about.
  const going = { ...plan, to: plan.to ?? plan.from, asked: true, refused: left && plan.refused }
  return move(performance, going, plan.asked ? {} : { checkpoint: withPlan(performance, going) })
}

type Going = MovePlan & { readonly to: HostName }

/** Moves the machine once over all turns, as far as one turn can. */
const move = async (
  performance: Performance,
  plan: Going,
  begun: { readonly checkpoint?: Record<string, unknown> },
): Promise<PerformWait | PerformDone> => {
  const { ctx, operation, machine, target, platform } = performance
  const port = portOf(platform, 'liveMove')
  let seen: PowerFacts | undefined
  let refusal: PlatformError | undefined
  try {
    const end = await runTask(ctx, {
      ...begun,
      part: 'move',
      kind: operationMoveKind,
      undo: { target: target.name, ref: machine.ref, machine_id: machine.id },
      platform: target.name,
      tasks: port,
      machine: machine.ref,
      turnMs: 0,
      begin: (call) => {
        // From here on the machine may be elsewhere.
        seen = undefined
        return port
          .move(call, machine.ref, { host: plan.to.ref, force: operation.force })
          .catch((error: unknown) => {
            if (error instanceof PlatformError && error.failure === 'refused') refusal = error
            throw error
          })
      },
      // The host of the machine tells, even if the task was lost or failed after the machine had arrived.
      made: async () => {
        seen = await requirePower(performance)
        return isAt(seen, plan.from) ? { found: false } : { found: true, value: null }
      },
      onFailure: (error) => throwWhatLasts(performance, error, seen),
      record: inPlan(performance, plan),
    })
    if (end.type === 'ended') return arrived(performance, plan, seen ?? (await requirePower(performance)))
    if (end.type === 'working') return await follow(performance, plan, end.status)
    const why =
      end.type === 'failed' ? end.error.message : 'The target has lost the task, and nothing has come of it'
    return await again(performance, plan, why)
  } catch (error) {
    if (refusal === undefined || error !== refusal) throw error
    return afterRefusal(performance, { ...plan, asked: false, refused: true }, refusal)
  }
}

/** A failed task is counted together with what follows from it: another host, or the same host after a pause. */
const inPlan = (performance: Performance, plan: Going): TaskRecord => ({
  read: () => ({ failed: plan.failed, ended: false, result: null }),
  write: async ({ failed, ended }) => {
    // The machine shows that the task has ended.
    if (ended) return
    const to = namedHost(performance) === null ? null : plan.to
    const spent = [...plan.spent, plan.to.ref]
    await storePlan(performance, { ...plan, asked: false, refused: false, failed, spent, to })
  },
})

/** Nothing has begun: the host refused, or the machine is off or elsewhere. */
const afterRefusal = async (
  performance: Performance,
  plan: MovePlan,
  refusal: PlatformError,
): Promise<PerformWait> => {
  if (refusal.code === 'platform-no-capacity') return elsewhere(performance, plan)
  await storePlan(performance, plan)
  if (refusal.code !== 'platform-wrong-state') throw refusal
  return { type: 'wait', reason: 'move-scheduling', detail: 'It is not where it was.', forMs: lookMs }
}

const follow = async (
  performance: Performance,
  plan: Going,
  status: MoveStatus | null,
): Promise<PerformWait> => {
  // A task of the machine whose owner the platform does not tell.
  if (!status) return { type: 'wait', reason: 'move-scheduling', detail: 'A task is at work.', forMs: lookMs }
  const { force, ranMs: atMs } = performance.operation
  const verdict = judgeMove(plan.track, {
    seen: status.move,
    queued: status.state === 'queued',
    force,
    atMs,
    lookMs,
  })
  const { reason, progress, pastReturn } = verdict
  const detail = moveText({ seen: status.move, rate: verdict.rate }, plan.to.name)
  // The undo of the effect aborts the move and waits for its end.
  if (verdict.giveUp) throw gaveUp(performance, reason, detail)
  await storePlan(performance, { ...plan, track: verdict.track })
  if (pastReturn && !performance.operation.pastReturn)
    await note(performance, { reason, message: detail, progress, pastReturn })
  return { type: 'wait', reason, detail, forMs: lookMs, progress }
}

/** The platform reports success; the machine must confirm it. */
const arrived = (performance: Performance, plan: MovePlan, seen: PowerFacts): PerformDone => {
  if (seen.state !== 'on') throw notForPhase(performance, `is ${seen.state}, on ${seen.host}`)
  if (isAt(seen, plan.from)) throw stayed(performance, plan)
  return {
    type: 'done',
    result: {
      from: plan.from.name,
      to: plan.to && isAt(seen, plan.to) ? plan.to.name : seen.host,
      // Somebody else moved the machine while this operation waited.
      ...(plan.asked && !plan.refused ? {} : { by: 'somebody else' }),
      ...(plan.bootId === '' || seen.boot_id === '' ? {} : { same_run: plan.bootId === seen.boot_id }),
    },
    machine: { power: seen.state, host: seen.host },
  }
}

const stayed = ({ machine, target }: Performance, { from }: MovePlan): DroverError =>
  new DroverError({
    code: 'platform-fault',
    class: 'transient',
    message: `${target.name} says that ${machine.name} was moved, and it runs on ${from.name} still.`,
    remedy: 'Nothing to do: it is looked at again.',
  })

/** Throws what neither another host nor a later time would mend. */
const throwWhatLasts = (performance: Performance, error: Error, seen: PowerFacts | undefined): void => {
  if (seen && seen.state !== 'on') throw notForPhase(performance, `is ${seen.state}`)
  if (!(error instanceof PlatformError)) return
  if (error.code === 'platform-aborted') throw abortedThere(performance, error)
  if (error.class === 'permanent') throw error
}

/** The move failed and the machine runs on its old host. */
const again = async (performance: Performance, plan: Going, why: string): Promise<PerformWait> => {
  const message = `The move to ${plan.to.name} failed: ${why.replace(/\.$/, '')}. It is tried again.`
  await note(performance, { reason: 'move-scheduling', message, pastReturn: false })
  const forMs = Math.min(30_000, lookMs * 2 ** Math.min(plan.failed + 1, 10))
  return { type: 'wait', reason: 'move-scheduling', detail: message, forMs }
}

/** Chooses another host after the move has begun: its slots are requested first. */
const elsewhere = async (performance: Performance, plan: MovePlan): Promise<PerformWait> => {
  const spent = plan.to && namedHost(performance) === null ? [...plan.spent, plan.to.ref] : plan.spent
  // The host that refused is not asked again, even if no other host is found.
  const open = { ...plan, to: null, spent }
  await storePlan(performance, open)
  const taken = await takeHost(performance, open).catch(async (error: unknown) => {
    await leaveLine(performance)
    throw error
  })
  if (taken.type === 'wait') return taken
  const detail = `To ${taken.plan.to?.name}: the target is asked again.`
  return { type: 'wait', reason: 'move-scheduling', detail, forMs: lookMs }
}

const abortedThere = ({ machine }: Performance, cause: PlatformError): DroverError =>
  new DroverError(
    {
      code: 'move-aborted' satisfies OperationReason,
      class: 'permanent',
      message: `${machine.name}: ${operationReasons['move-aborted'].title}. ${cause.message}`,
      remedy: operationReasons['move-aborted'].remedy,
    },
    { cause },
  )

const gaveUp = ({ machine, operation }: Performance, reason: OperationReason, detail: string): DroverError =>
  new DroverError({
    code: reason,
    class: 'permanent',
    message: `${operation.kind} of ${machine.name}: ${operationReasons[reason].title}. ${detail}`,
    remedy: operationReasons[reason].remedy,
  })

/** A move by a person's hand is named as the obstacle. */
const nameOther = async (performance: Performance, thrown: unknown): Promise<PerformWait> => {
  if (!(thrown instanceof PlatformError) || thrown.code !== 'platform-busy') throw thrown
  const { platform, machine, target } = performance
  const moves = portOf(platform, 'liveMove')
  const found = await moves.findTask(callOf(performance, 'look'), { machine: machine.ref })
  if (!found.found) throw thrown
  const seen = await found.value.status(callOf(performance, 'look')).catch(() => undefined)
  if (seen?.state !== 'running' && seen?.state !== 'queued') throw thrown
  const { title } = operationReasons['other-move']
  const detail = `${title}: task ${seen.id} of ${target.name}, ${moveText({ seen: seen.move, rate: null }, 'another host')}`
  return { type: 'wait', reason: 'other-move', detail, forMs: otherMs }
}

const otherMs = 2_000

const retrying = retryUntilDeadline(['live-move', 'power'], (performance) =>
  performMove(performance).catch((error: unknown) => nameOther(performance, error)),
)

/** Moves a machine from a host to another while it runs. */
export const moveMachine: Performer = {
  prepare: async (performance) => {
    await retrying.prepare?.(performance)
    const prepared = await prepareMove(performance)
      .catch((error: unknown) => nameOther(performance, error))
      .catch((error: unknown) => outlast(performance, error))
    if (prepared.type === 'wait') {
      const { reason, detail: message, progress = 0 } = prepared
      // Any other wait must not hold slots.
      if (reason !== 'awaiting-slot') await dropSlots(performance)
      await note(performance, { reason, message, progress })
    }
    return prepared
  },
  perform: retrying.perform,
}
