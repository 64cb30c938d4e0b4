import { z } from 'zod'
import type { Tx } from '../../../db/client.ts'
import { thawInstance } from '../../../db/queries/batches/freeze-instances.ts'
import { deleteEntryDisks } from '../../../db/queries/copies/entry-disks.ts'
import {
  deleteEntry,
  type EntryAtWork,
  type EntryChange,
  writeEntry,
} from '../../../db/queries/entries/entry-rows.ts'
import { insertAuditEvent } from '../../../db/queries/events/insert-audit-event.ts'
import { lockMachinesAt, markMachinesGone } from '../../../db/queries/machines/machine-rows.ts'
import type { SiteRow } from '../../../db/schema/inventory.ts'
import { crashPoint } from '../../crash-point.ts'
import { DroverError } from '../../errors.ts'
import { type PowerOutcome, powerMachine } from '../../inventory/power/power-machine.ts'
import { requireMayStart } from '../../inventory/power/start-guard.ts'
import { isUnderWay } from '../../ledger/ended-task.ts'
import {
  actorOf,
  callBy,
  done,
  type JobCall,
  type JobContext,
  type Outcome,
  waitFor,
} from '../../ledger/job.ts'
import { again } from '../../platforms/ports/bounded-wait.ts'
import { isAbsent } from '../../platforms/ports/platform-error.ts'
import { type Platform, portOf } from '../../platforms/ports/ports.ts'
import { removeSnapshots, snapshotPrefix } from '../copy/source-snapshot.ts'
import { asItIs } from '../entry/apply-entry.ts'
import { type EntryWork, enterEntryWork, leaveEntryWork } from '../entry/entry-work.ts'
import {
  type AskedStops,
  awaitStop,
  findAskedStops,
  keepAskedStops,
  sourceStartPart,
} from '../source/asked-stops.ts'
import { sameMachine, startOfSource } from '../source/give-back.ts'
import { isTakenOver, oweMachine, settleCleanUps } from '../target/clean-up.ts'
import { ownMachines, proveTargetOff, startsOf } from '../target/own-target.ts'

export interface Orders {
  readonly source: 'keep' | 'start' | 'start-any'
  readonly target: 'keep' | 'destroy'
}

const targetUnknown = ({ id, machineRef }: EntryAtWork): DroverError =>
  new DroverError({
    code: 'target-unknown',
    class: 'conflict',
    message: `The target of entry ${id} is not known any more: whether our copy ${machineRef ?? ''} runs cannot be told.`,
    remedy: 'Add the target again under its old name.',
  })

/** What became of the source. */
type SourceEnd = 'kept' | 'started' | 'gone' | 'not-ours'
type Waiting = Extract<PowerOutcome, { type: 'wait' }>

const callMs = 60_000
const taskMs = 600_000
const powerMs = 300_000
const lookMs = 2_000

const noStops: AskedStops = { owed: [], over: [] }

/** Withdraws an entry: our copy is off before the source runs, and is removed if that was requested. */
export const withdrawEntry = async (ctx: JobContext, entryId: string, orders: Orders): Promise<Outcome> => {
  const entryWork = await enterWithdrawal(ctx, entryId, orders)
  const takenOver = orders.target === 'destroy' && (await isTakenOver(ctx.db, entryId))
  // The machine belongs to a person now: the target need not even answer, unless the source has yet to be started.
  const own = takenOver
    ? undefined
    : await useTarget(entryWork, (platform, target) => ownOff(entryWork, platform, target))
  if (own?.type === 'wait') return waitForPower(own)
  const mayStart = async () => {
    if (takenOver) await useTarget(entryWork, (platform) => proveOff(entryWork, platform))
    await requireMayStart(ctx, startOfSource(entryWork))
  }
  const source = await ctx.usePlatform(entryWork.source, (platform) =>
    leaveSource(entryWork, platform, { mayStart, orders }),
  )
  if (typeof source === 'object') return waitForPower(source)
  const destroys = orders.target === 'destroy' && !takenOver
  const machines = destroys ? await rememberOwn(ctx, own?.machines ?? []) : []
  if (destroys)
    await useTarget(entryWork, async (platform) => {
      for (const machine of machines) await destroy(entryWork, platform, machine)
    })
  const snapshots = await ctx.usePlatform(entryWork.source, (platform) => dropSnapshots(entryWork, platform))
  const asked =
    source === 'started'
      ? await ctx.usePlatform(entryWork.source, (at) => findAskedStops(entryWork, at))
      : noStops
  const result = { source, destroyed: machines, snapshots }
  const gone = { targetId: entryWork.target?.id ?? entryWork.source.id, refs: machines }
  return done(result, {
    lock: (tx) => lockMachinesAt(tx, gone),
    change: leaveEntryWork(entryWork, async (tx, entry) => {
      await markMachinesGone(tx, { ...gone, reason: 'Its migration was withdrawn.', by: actorOf(ctx) })
      if (destroys) await settleCleanUps(tx, { entryId, actor: actorOf(ctx) })
      await keepAskedStops(tx, entryWork, asked)
      await settle(tx, ctx, entry, { orders, source, result })
    }),
  })
}

const waitForPower = ({ forWhat, forMs }: Waiting): Outcome =>
  waitFor({ reason: 'power', detail: `Waits for ${forWhat}.`, forMs })

/** The debt for the machine exists already, except in a withdrawal that an older version has sent. */
const enterWithdrawal = async (ctx: JobContext, entryId: string, { target }: Orders): Promise<EntryWork> => {
  const owed = { entryId, jobId: ctx.job.id, anew: false, actor: actorOf(ctx) }
  const entryWork = await enterEntryWork(ctx, entryId, async (tx) => {
    if (target === 'destroy') await oweMachine(tx, owed)
  })
  const { machineRef, targetId } = entryWork.entry
  if (!entryWork.target && (machineRef !== null || targetId !== null)) throw targetUnknown(entryWork.entry)
  return entryWork
}

const storedMachines = z.array(z.string())

/** Includes the machines that an earlier turn was about to destroy: one that is gone since is recorded as removed. */
const rememberOwn = async (ctx: JobContext, machines: readonly string[]): Promise<readonly string[]> => {
  const stored = storedMachines.safeParse(ctx.checkpointed?.machines)
  const known = stored.success ? stored.data : []
  const all = [...new Set([...known, ...machines])]
  if (all.length > known.length) await ctx.checkpoint({ ...ctx.checkpointed, machines: all })
  return all
}

/** An entry that was never placed has nothing on a target. */
const useTarget = async <Result>(
  { ctx, target }: EntryWork,
  work: (platform: Platform, target: SiteRow) => Promise<Result>,
): Promise<Result | undefined> =>
  target ? ctx.usePlatform(target, (platform) => work(platform, target)) : undefined

const callOf = ({ ctx }: EntryWork, name: string, timeoutMs = callMs): JobCall =>
  callBy(ctx, `${ctx.job.id}/${name}`, timeoutMs)

type OwnOff = { readonly type: 'off'; readonly machines: readonly string[] } | Waiting

/** Our machines on the target, each proved off. Unknown throws, and nothing else is done. */
const ownOff = async (entryWork: EntryWork, platform: Platform, target: SiteRow): Promise<OwnOff> => {
  const { ctx, entry } = entryWork
  const owned = { entryId: entry.id, machineRef: entry.machineRef }
  const call = callOf(entryWork, 'own')
  const machines = await ownMachines(platform, call, owned)
  const begun = await startsOf(ctx.db, entry.id)
  for (const ref of machines) {
    // Off, and about to start.
    if (await isUnderWay(portOf(platform, 'power'), call, { machine: ref, begun }))
      return { type: 'wait', forMs: lookMs, forWhat: 'a start of our copy that the target is still at' }
    const outcome = await powerMachine({
      ctx,
      site: target,
      platform,
      ref,
      asked: { verb: 'stop', force: true, timeoutMs: powerMs },
      mayStart: 'never',
      part: `off-${ref}`,
      undo: null,
    })
    if (outcome.type === 'wait') return outcome
  }
  return { type: 'off', machines }
}

const proveOff = async (entryWork: EntryWork, platform: Platform): Promise<void> => {
  const { ctx, entry } = entryWork
  const owned = { entryId: entry.id, machineRef: entry.machineRef }
  const confirm = () => ctx.confirm()
  const starts = await startsOf(ctx.db, entry.id)
  await proveTargetOff(platform, callOf(entryWork, 'prove-off', powerMs), owned, { starts, confirm })
}

/**
 * Starts the source if Drover must start it. Unless a person has cancelled the entry, it must still be the machine
 * that was switched off: until then the start stays owed.
 */
const leaveSource = async (
  entryWork: EntryWork,
  platform: Platform,
  { mayStart, orders }: { readonly mayStart: () => Promise<void>; readonly orders: Orders },
): Promise<SourceEnd | Waiting> => {
  const { ctx, entry, source, facts } = entryWork
  if (orders.source === 'keep') return 'kept'
  if (entry.sourceStoppedAt === null) return 'not-ours'
  const asked = { ref: facts.ref, uuid: orders.source === 'start-any' ? null : facts.uuid }
  if ((await sameMachine(platform, callOf(entryWork, 'identity'), asked)) === 'gone') return 'gone'
  const waits = await awaitStop(entryWork, platform)
  if (waits) return waits
  const outcome = await powerMachine({
    ctx,
    site: source,
    platform,
    ref: facts.ref,
    asked: { verb: 'start', force: false, timeoutMs: powerMs },
    mayStart,
    part: sourceStartPart,
    undo: null,
  })
  return outcome.type === 'wait' ? outcome : 'started'
}

/**
 * By recorded ref, and only while the machine carries our tag. A machine that is gone counts as removed. The debt
 * exists already.
 */
const destroy = async (entryWork: EntryWork, platform: Platform, machine: string): Promise<void> => {
  const { ctx, entry } = entryWork
  const machines = portOf(platform, 'machines')
  const call = callOf(entryWork, `destroy/${machine}/${ctx.job.leaseEpoch}`, taskMs)
  const owned = { entryId: entry.id, machineRef: machine }
  if (!(await ownMachines(platform, call, owned)).includes(machine)) return
  crashPoint('before-effect')
  try {
    const handle = await again(call, () => machines.destroy(call, machine))
    await handle.wait(call)
  } catch (error) {
    if (!isAbsent(error)) throw error
  }
  crashPoint('after-effect')
}

/** Removes the snapshots of its copies from the source, by the names that only this entry uses. */
const dropSnapshots = (entryWork: EntryWork, platform: Platform): Promise<number> => {
  const prefix = snapshotPrefix(entryWork.entry.id)
  return removeSnapshots(platform, callOf(entryWork, `drop/${entryWork.ctx.job.leaseEpoch}`, taskMs), {
    machine: entryWork.facts.ref,
    isOurs: ({ name }) => name.startsWith(prefix),
  })
}

/** The entry after the withdrawal: free, or removed if a person wanted that. */
const settle = async (
  tx: Tx,
  ctx: JobContext,
  entry: EntryAtWork,
  end: {
    readonly orders: Orders
    readonly source: SourceEnd
    readonly result: Record<string, unknown>
  },
): Promise<void> => {
  const { orders, source, result } = end
  await insertAuditEvent(tx, {
    type: 'entry.withdrawn',
    subject: { type: 'entry', id: entry.id },
    actor: actorOf(ctx),
    reason: told(source),
    detail: { ...result, batch_id: entry.batchId, instance_id: entry.instanceId },
  })
  if (orders.target === 'destroy') await deleteEntryDisks(tx, entry.id)
  // A request that came during this withdrawal may ask for more: then another withdrawal follows.
  const nothingLeft = orders.target === 'destroy' || (entry.machineRef === null && entry.placement === null)
  if (entry.intent?.verb === 'reset' && nothingLeft) {
    await thawInstance(tx, entry.instanceId)
    await deleteEntry(tx, entry.id)
    return
  }
  const change: EntryChange = {
    // The source runs on: an old baseline does not fit the next copy.
    ...(orders.source === 'keep'
      ? {}
      : { sourceStoppedAt: null, sourceOffAt: null, guestUntil: null, constraintName: null, baseline: null }),
    ...(orders.target === 'destroy'
      ? { machineRef: null, placement: null, syncedAt: null, progress: null, baseline: null }
      : {}),
  }
  await writeEntry(tx, { ...asItIs(entry), jobId: null, change })
  // Frozen until now, so that its record does not take a power-off by Drover for its own.
  if (entry.state === 'canceled') await thawInstance(tx, entry.instanceId)
}

const told = (source: SourceEnd): string =>
  ({
    kept: 'The source was left as it is.',
    started: 'The source runs again.',
    gone: 'The source is gone, so it was not started.',
    'not-ours': 'The source was not switched off by us, so it was left as it is.',
  })[source]
