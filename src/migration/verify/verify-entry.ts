import { listEntryDisks, setBackDisk } from '../../../db/queries/copies/entry-disks.ts'
import { findInstanceById } from '../../../db/queries/instances/find-instance.ts'
import { keepPending } from '../../../db/queries/sync/keep-pending.ts'
import type { InstanceRow } from '../../../db/schema/inventory.ts'
import type { InstanceFacts } from '../../domain/inventory/facts.ts'
import { mergeInstance } from '../../domain/inventory/merge.ts'
import type { EffectiveFacts } from '../../domain/inventory/overrides.ts'
import type { Reason } from '../../domain/migration/entry/entry-facts.ts'
import { failedChecks, type VerifyCheck } from '../../domain/migration/verify/verify-guest.ts'
import { actorOf, type DoneWithChange, type JobContext, type Wait, waitFor } from '../../ledger/job.ts'
import { callOf, taskMs } from '../copy/copy-task.ts'
import { identityChanged, move } from '../copy/import-entry.ts'
import { fitTarget } from '../cutover/fit-target.ts'
import { moveEntry } from '../entry/apply-entry.ts'
import { atBothEnds, enterEntryWork, leaveEntryWork, machineOf, movedOn } from '../entry/entry-work.ts'
import { proveTargetOff, startsOf } from '../target/own-target.ts'
import { bootTarget, seenOnTarget } from './boot-target.ts'
import { compareEntry } from './compare-entry.ts'
import { finishEntry, lockMachine, newCertificateId } from './finish-entry.ts'
import { lookAtSource } from './look-at-source.ts'
import { type DiskDifference, doubtWhatRan, proveDisks } from './prove-disks.ts'
import { compareWithSource, type DiskStands } from './source-behind.ts'
import { hasStartDebts, requireSourceOff } from './start-target.ts'
import type { VerifyParts, VerifyTask } from './verify-task.ts'

type VerifyOutcome = DoneWithChange | Wait

const waitOf = (
  name: string,
  { forWhat, forMs }: { readonly forWhat: string; readonly forMs: number },
): Wait => waitFor({ reason: 'verify', detail: `${name}: waits for ${forWhat}.`, forMs })

export interface AskedVerify {
  readonly entryId: string
  readonly force: boolean
}

/**
 * The final check of an entry: the source is off and is what was copied, the target's disks equal what was read from
 * the source, and the target runs as the source did. Only then is the certificate issued and the entry finished.
 */
export const verifyEntry = async (
  ctx: JobContext,
  asked: AskedVerify,
  parts: VerifyParts,
): Promise<VerifyOutcome> => {
  const entryWork = await enterEntryWork(ctx, asked.entryId, async (_tx, _batch, entry) => {
    if (entry.state !== 'worker-done') throw movedOn(entry.id)
  })
  const { entry, batch } = entryWork
  const instance = await findInstanceById(ctx.db, entry.instanceId)
  if (!instance) throw movedOn(entry.id)
  if (await hasStartDebts(entryWork)) return waitOf(entryWork.facts.name, earlierStart)
  // The value of now: the batch may have been changed since its start.
  const force = asked.force || batch.defaults.force_conflict_resolution
  return atBothEnds(entryWork, (ends) =>
    verify(
      {
        ...{ entryWork, ends, ...parts, phase: 'verify', pace: () => ctx.pace() },
        ...{ parts, force, overrides: instance.overrides },
      },
      instance,
    ),
  )
}

const earlierStart = {
  forMs: 10_000,
  forWhat: 'its target to be stopped, which an earlier verification has left running',
} as const

/** What was settled before the start of the target; later turns that wait for the target do not ask again. */
interface Settled {
  readonly ignored: readonly Reason[]
  readonly record: { readonly facts: EffectiveFacts; readonly placement: object } | null
  readonly checks: readonly VerifyCheck[]
}

const verify = async (task: VerifyTask, instance: InstanceRow): Promise<VerifyOutcome> => {
  const { ctx, facts } = task.entryWork
  let settled = (ctx.checkpointed?.settled ?? ctx.checkpointed?.to_fit) as Settled | undefined
  if (!settled) {
    const found = await settle(task, instance)
    if ('type' in found) return found
    settled = found
  }
  if (task.entryWork.entry.running) {
    const early = await compareWithSource(task, 'before-start')
    if (early.is === 'behind') return stale(task, early.why)
  }
  await task.pace()
  const proved = await proveDisks(task)
  if (proved.is === 'different') return contentDiffers(task, proved.differences)
  if (ctx.checkpointed?.settled === undefined) {
    // The certificate covers the record that the machine was fitted to, so later turns continue with the same record.
    await ctx.checkpoint({ ...ctx.checkpointed, to_fit: settled })
    await fitTarget(settled.record ? withRecord(task, settled.record) : task)
    await ctx.checkpoint({ ...ctx.checkpointed, settled })
  }
  const boot = await bootTarget(task)
  if (boot.type === 'wait') return waitOf(facts.name, boot)
  // Somebody may have started the source during the boot: two running copies must not be certified.
  await requireSourceOff(task)
  // The source is off again by now, but may have run in between.
  const late = await compareWithSource(task, 'before-finish')
  if (late.is === 'behind') return stale(task, late.why)
  const disks: VerifyCheck[] = proved.disks.map(({ row, proof }) => ({
    name: `disk-${row.disk}`,
    expected: proof.source,
    observed: proof.target,
    result: proof.source === proof.target ? 'passed' : 'failed',
  }))
  const checks = [...settled.checks, ...late.disks.map(unchangedCheck), ...disks, ...boot.checks]
  const setAside = failedChecks(checks).map(({ name, expected, observed }) => ({
    code: 'check-failed',
    message: `${name} is ${observed}, it was ${expected}.`,
  }))
  const id = newCertificateId()
  const machine = await seenOnTarget(task)
  const ignored = [...settled.ignored, ...setAside]
  const record = settled.record ?? undefined
  return {
    type: 'done',
    result: { certificate: id, checks: checks.length, ignored: ignored.length },
    lock: lockMachine(task),
    change: finishEntry(task, id, { machine, checks, disks: proved.disks, ignored, record }),
  }
}

/** Compares source, record and placement: returns an outcome, or what disks and boot still have to prove. */
const settle = async (task: VerifyTask, instance: InstanceRow): Promise<Settled | VerifyOutcome> => {
  const { entryWork } = task
  await proveOff(task)
  const look = await lookAtSource(task)
  switch (look.is) {
    case 'wait':
      return waitOf(entryWork.facts.name, look)
    case 'stale':
      return stale(task, look.why)
    case 'gone':
      return task.force
        ? { ignored: [gone], record: null, checks: [sourceCheck('gone', 'not-asked')] }
        : conflict(task, [gone], { facts: null, placement: null, diff: [] })
    case 'there':
      break
  }
  const { answer, placement } = await compareEntry(task, instance, look.facts)
  const checks = [sourceCheck('off', 'passed'), identityCheck(entryWork.facts.uuid, look.facts.uuid)]
  switch (answer.is) {
    case 'error':
      return keepSeen(
        mergeInstance(instance.facts, look.facts),
        instance.id,
        answer.event === 'identity-changed'
          ? identityChanged(entryWork, answer.reason.message)
          : failed(task, answer.reason),
      )
    case 'conflict':
      return conflict(task, answer.reasons, { ...answer.pending, placement, diff: answer.diff })
    case 'keep':
      return { ignored: answer.ignored, record: null, checks }
    case 'adopt':
      return {
        ignored: [],
        record: { facts: answer.record.facts, placement: { ...placement, ...answer.record.placement } },
        checks,
      }
    case 'same':
      return { ignored: [], record: null, checks }
  }
}

/**
 * The differences behind a failure are kept with the instance, as a sync would: a retry adopts them, and a person sees
 * them.
 */
const keepSeen = (seen: InstanceFacts, instanceId: string, outcome: DoneWithChange): VerifyOutcome => ({
  ...outcome,
  change: async (tx) => {
    await keepPending(tx, instanceId, seen)
    await outcome.change(tx)
  },
})

const gone: Reason = { code: 'source-gone', message: 'The source does not have the machine any more.' }

const sourceCheck = (observed: string, result: VerifyCheck['result']): VerifyCheck => ({
  name: 'source-power',
  expected: 'off',
  observed,
  result,
})

const unchangedCheck = ({ disk, by }: DiskStands): VerifyCheck => ({
  name: `source-disk-${disk}`,
  expected: 'as copied',
  observed: `as copied, by ${by}`,
  result: 'passed',
})

const identityCheck = (expected: string, observed: string): VerifyCheck => ({
  name: 'source-identity',
  expected,
  observed,
  result: expected === '' || observed === '' ? 'not-asked' : expected === observed ? 'passed' : 'failed',
})

/** Stops a target that an earlier try has left running: its disks are read, and the source is checked. */
const proveOff = async (task: VerifyTask): Promise<void> => {
  const { ctx, entry } = task.entryWork
  const call = callOf(task, `${ctx.job.id}/${ctx.job.leaseEpoch}/verify`, taskMs)
  const owned = { entryId: entry.id, machineRef: machineOf(task.entryWork) }
  const confirm = () => ctx.confirm()
  await proveTargetOff(task.ends.target, call, owned, { starts: await startsOf(ctx.db, entry.id), confirm })
}

const withRecord = (task: VerifyTask, record: NonNullable<Settled['record']>): VerifyTask => ({
  ...task,
  entryWork: {
    ...task.entryWork,
    facts: record.facts,
    entry: { ...task.entryWork.entry, placement: record.placement as Record<string, unknown> },
  },
})

/** The final import is repeated, into a target that is off and whose own writes are overwritten. */
const stale = async (task: VerifyTask, message: string): Promise<VerifyOutcome> => {
  await proveOff(task)
  await doubtWhatRan(task)
  return {
    type: 'done',
    result: { ended: 'copy-stale' },
    change: move(task.entryWork, {
      event: 'copy-stale',
      reason: { code: 'copy-stale', message },
      change: { pending: null, reasons: [], retries: 0 },
    }),
  }
}

const conflict = (
  { entryWork }: VerifyTask,
  reasons: readonly [Reason, ...Reason[]],
  pending: Readonly<Record<string, unknown>>,
): VerifyOutcome => ({
  type: 'done',
  result: { ended: 'conflict', reasons: reasons.map(({ code }) => code) },
  change: move(entryWork, {
    event: 'conflict',
    reason: reasons[0],
    change: { pending, reasons: reasons.map((one) => ({ ...one })) },
  }),
})

const failed = ({ entryWork }: VerifyTask, why: Reason): DoneWithChange => ({
  type: 'done',
  result: { ended: why.code },
  change: move(entryWork, {
    event: 'fail',
    reason: why,
    change: { error: errorOf(why, 'Look at the instance on its source, then retry the entry or cancel it.') },
  }),
})

const errorOf = ({ code, message }: Reason, remedy: string) =>
  ({ code, class: 'conflict', message, remedy }) as const

/** Differences are copied again on a retry; nobody can waive them. */
const contentDiffers = ({ entryWork }: VerifyTask, differences: readonly DiskDifference[]): VerifyOutcome => {
  const told = differences.map(({ disk, count }) => `disk ${disk} in ${count} extents`).join(', ')
  const why = {
    code: 'content-differs',
    message: `The copy on the target is not what was read from the source: ${told}.`,
  }
  return {
    type: 'done',
    result: { ended: why.code, disks: differences.map(({ disk, count }) => ({ disk, count })) },
    change: leaveEntryWork(entryWork, async (tx, entry) => {
      for (const row of await listEntryDisks(tx, entry.id)) {
        const different = differences.find(({ disk }) => disk === row.disk)
        if (different) await setBackDisk(tx, row, different)
      }
      await moveEntry(tx, entryWork.batch.row, entry, {
        event: 'fail',
        reason: why,
        by: actorOf(entryWork.ctx),
        change: {
          error: errorOf(
            why,
            'Find out who writes to the target, then retry the entry: what differs is copied anew.',
          ),
        },
      })
    }),
  }
}
