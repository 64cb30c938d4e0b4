import { insertAuditEvent } from '../../../db/queries/events/insert-audit-event.ts'
import { writeTracking } from '../../../db/queries/instances/write-tracking.ts'
import type { InstanceRow, SiteRow } from '../../../db/schema/inventory.ts'
import type { InstanceFacts } from '../../domain/inventory/facts.ts'
import type { TrackingRecord } from '../../domain/inventory/tracking.ts'
import { DroverError } from '../../errors.ts'
import { actorOf, type JobContext } from '../../ledger/job.ts'
import { finishTask, type PlatformTask } from '../../ledger/platform-task.ts'
import type { Call } from '../../platforms/ports/call.ts'
import { isUnsupported, saidNo } from '../../platforms/ports/platform-error.ts'
import { type Platform, portOf, requireCapability } from '../../platforms/ports/ports.ts'
import { reassess } from '../judge/assess.ts'
import { allVerified, verifyTracking } from '../judge/prove-tracking.ts'
import { refreshInstance } from '../sync/refresh-instance.ts'
import { powerMachine } from './power-machine.ts'

export interface TrackTask {
  readonly ctx: JobContext
  readonly site: SiteRow
  readonly platform: Platform
  readonly instance: InstanceRow
  readonly removeSnapshots: boolean
  readonly force: boolean
  readonly timeoutMs: number
  /** Asked before the machine is switched off, and right before it is switched on again. */
  readonly mayStart: () => Promise<void>
}

export type TrackOutcome =
  | { readonly type: 'done'; readonly tracking: Readonly<Record<string, string>> }
  | { readonly type: 'wait'; readonly forMs: number; readonly forWhat: string }

/** The effect kind whose undo starts a machine that was switched off on the way; see the handler's undoer. */
export const cycleKind = 'instance-cycle'

/** Checks whether each disk of a machine is tracked, and records it. */
export const resetTracking = async (task: TrackTask): Promise<TrackOutcome> => {
  const { ctx, instance, site } = task
  const facts = await lookAt(task)
  if (!facts.background_import)
    throw refusal(
      'tracking-off',
      `${site.name} does not track the changes of ${instance.name}.`,
      'Use :enable-background-import.',
    )
  const tracking = await verify(task, facts)
  await ctx.transaction(async (tx) => {
    await writeTracking(tx, instance.id, tracking)
    await reassess(tx, { instanceIds: [instance.id] })
    await insertAuditEvent(tx, {
      type: 'instance.tracking-checked',
      subject: { type: 'instance', id: instance.id },
      actor: actorOf(ctx),
      detail: { source: site.name, name: instance.name, tracking },
    })
  })
  return { type: 'done', tracking }
}

/** Switches tracking on; power-cycles the machine only if tracking does not begin otherwise. */
export const enableTracking = async (task: TrackTask): Promise<TrackOutcome> => {
  const { ctx, platform } = task
  requireCapability(platform, 'changed-blocks')
  const cycling = ctx.checkpointed?.cycling === true
  const facts = await lookAt(task)
  if (!cycling && !allVerified(facts, await verify(task, facts))) {
    await clearSnapshots(task, facts)
    await switchOn(task)
    const now = await lookAt(task)
    if (facts.power_state !== 'off' && !allVerified(now, await verify(task, now)))
      await ctx.checkpoint({ ...ctx.checkpointed, cycling: true })
  }
  if (ctx.checkpointed?.cycling === true) {
    const waiting = await cycle(task)
    if (waiting) return waiting
  }
  return resetTracking(task)
}

/** Off and on, as gently as requested. A machine that Drover switched off is switched on again in every case. */
const cycle = async (task: TrackTask): Promise<TrackOutcome | undefined> => {
  const { ctx, site, platform, instance, force, timeoutMs } = task
  const undo = { kind: cycleKind, with: { site_id: site.id, ref: instance.ref } }
  const common = { ctx, site, platform, ref: instance.ref, undo }
  if (ctx.checkpointed?.down !== true) {
    if (ctx.checkpointed?.off === undefined) await task.mayStart()
    const down = await powerMachine({
      ...common,
      asked: { verb: 'shutdown' as const, force, timeoutMs },
      part: 'off',
      mayStart: 'never',
    })
    if (down.type === 'wait') return down
    await ctx.checkpoint({ ...ctx.checkpointed, down: true })
  }
  const up = await powerMachine({
    ...common,
    asked: { verb: 'start', force, timeoutMs },
    mayStart: task.mayStart,
    part: 'on',
    undo: null,
  })
  return up.type === 'wait' ? up : undefined
}

/** Asks the platform about the tracking of each disk whose facts do not tell. */
const verify = ({ ctx, platform, instance }: TrackTask, facts: InstanceFacts): Promise<TrackingRecord> =>
  verifyTracking(facts, async (disk) => {
    const call = { signal: ctx.signal, timeoutMs: verifyMs, name: `verify-${ctx.job.id}-${disk}` }
    try {
      await portOf(platform, 'disks').changedBlocks(call, { machine: instance.ref, disk }, '*')
      return true
    } catch (error) {
      // A missing answer is not a no.
      if (saidNo(error) || isUnsupported(error)) return false
      throw error
    }
  })

const lookAt = async (task: TrackTask): Promise<InstanceFacts> => {
  const { ctx, site, platform, instance } = task
  const facts = await refreshInstance(ctx, site, platform, instance.ref)
  if (facts) return facts
  throw new DroverError({
    code: 'instance-absent',
    class: 'permanent',
    message: `${site.name} has no machine ${instance.ref} any more.`,
    remedy: 'Sync the source, then look for the instance.',
  })
}

const clearSnapshots = async (task: TrackTask, facts: InstanceFacts): Promise<void> => {
  if (facts.snapshots.length === 0) return
  if (!task.removeSnapshots)
    throw refusal(
      'snapshots-present',
      `${task.instance.name} has ${facts.snapshots.length} snapshots, and tracking cannot begin below them.`,
      'Remove them, or ask again with remove_snapshots: they are gone for good.',
    )
  const machines = portOf(task.platform, 'machines')
  for (const { ref } of facts.snapshots)
    await change(task, `snapshot/${ref}`, {
      verb: 'remove-snapshot',
      isDone: async (call) => {
        const found = await machines.snapshots(call, task.instance.ref)
        return found.found && !found.value.some((snapshot) => snapshot.ref === ref)
      },
      begin: (call) => machines.removeSnapshot(call, task.instance.ref, ref),
    })
}

const switchOn = (task: TrackTask): Promise<void> => {
  const machines = portOf(task.platform, 'machines')
  return change(task, 'track', {
    verb: 'reconfigure',
    isDone: async (call) => {
      const found = await portOf(task.platform, 'inventory').instance(call, task.instance.ref)
      return found.found && found.value.background_import
    },
    begin: (call) => machines.reconfigure(call, task.instance.ref, { changeTracking: true }),
  })
}

const taskMs = 600_000
const verifyMs = 60_000

/** One change of the machine, once over all tries, until the platform's task ends. */
const change = async (
  { ctx, site, platform, instance }: TrackTask,
  part: string,
  how: Pick<PlatformTask, 'begin' | 'verb'> & { readonly isDone: (call: Call) => Promise<boolean> },
): Promise<void> => {
  await finishTask(ctx, {
    ...how,
    part,
    kind: 'instance-change',
    undo: null,
    platform: site.name,
    tasks: portOf(platform, 'machines'),
    machine: instance.ref,
    turnMs: taskMs,
    made: async (call) => ((await how.isDone(call)) ? { found: true, value: null } : { found: false }),
  })
}

const refusal = (code: string, message: string, remedy: string): DroverError =>
  new DroverError({ code, class: 'conflict', message, remedy })
