import type { Tx } from '../../../db/client.ts'
import { freezeInstances, thawInstance } from '../../../db/queries/batches/freeze-instances.ts'
import {
  deleteEntry,
  type EntryAtWork,
  type EntryChange,
  writeEntry,
} from '../../../db/queries/entries/entry-rows.ts'
import { insertAuditEvent } from '../../../db/queries/events/insert-audit-event.ts'
import { findInstanceById } from '../../../db/queries/instances/find-instance.ts'
import { applyOverrides } from '../../domain/inventory/overrides.ts'
import { endsRunning } from '../../domain/migration/batch/start-batch.ts'
import {
  type EntryPlace,
  type EntryStage,
  type EntryState,
  hasEnded,
  isCommitted,
} from '../../domain/migration/entry/entry.ts'
import type { EntryJobKind, Reason } from '../../domain/migration/entry/entry-facts.ts'
import { applyEntryEvent, type EntryEvent, type EntryRule } from '../../domain/migration/entry/entry-table.ts'
import { DroverError } from '../../errors.ts'
import { adoptPending } from '../../inventory/sync/adopt-pending.ts'
import { enqueue, type NewJob } from '../../ledger/jobs/enqueue.ts'
import { oweMachine } from '../target/clean-up.ts'
import { entryDependsOn } from './hangs-on.ts'

export interface BatchOfEntry {
  readonly id: string
  readonly name: string
}

export interface EntryStep {
  readonly event: EntryEvent
  readonly reason: Reason
  readonly by: string
  readonly force?: boolean
  /** A cancel that also removes the target machine. */
  readonly cleanup?: boolean
  readonly tries?: number
  /** No look before this time; undefined: at once. */
  readonly lookAt?: Date
  /** The job that continues the entry; not given: none. */
  readonly jobId?: string | null
  readonly change?: EntryChange
}

export const placeOf = (entry: Pick<EntryAtWork, 'state' | 'stage'>): EntryPlace => ({
  state: entry.state as EntryState,
  stage: entry.stage as EntryStage,
})

/** The fields of an entry that stay as they are unless a writer names them. */
export const asItIs = (entry: EntryAtWork) => ({
  id: entry.id,
  reason: entry.reason,
  message: entry.message,
  tries: entry.tries,
  jobId: entry.jobId,
})

/**
 * The only way to move an entry: asks the table, writes the row and the event, and sends the withdrawal that the
 * transition needs. The caller holds the entry's lock. Throws when the table refuses.
 */
export const moveEntry = async (
  tx: Tx,
  batch: BatchOfEntry,
  entry: EntryAtWork,
  step: EntryStep,
): Promise<EntryPlace | undefined> => {
  const from = placeOf(entry)
  const answer = applyEntryEvent(from, step.event, step.force === undefined ? {} : { force: step.force })
  if (!answer.allowed) throw refusedStep(entry, step.event, answer.why)
  const { rule, to } = answer
  if (!isToldAlready(entry, step)) await tellOf(tx, entry, { from, to, step })
  const withdrawal = withdrawalOf(entry, rule, step)
  if (!to && !withdrawal) {
    await thawInstance(tx, entry.instanceId)
    await deleteEntry(tx, entry.id)
    return undefined
  }
  // With something to withdraw, a reset takes the entry away after the withdrawal.
  const place = to ?? rule.leavesAs ?? from
  const jobId = withdrawal ? await send(tx, batch, entry, withdrawal) : (step.jobId ?? null)
  await writeEntry(tx, {
    id: entry.id,
    step: { from, event: step.event },
    reason: step.reason.code,
    message: step.reason.message,
    tries: step.tries ?? 0,
    jobId,
    lookAt: step.lookAt,
    change: {
      ...leaving(entry, place, from),
      ...(await followRecord(tx, batch, entry, step.event)),
      ...requestAfter(step.event, to),
      ...step.change,
      ...reasonsAfter(step, place),
    },
  })
  // A sync before the withdrawal would record the power state that Drover caused as the instance's own.
  if (to && hasEnded(place.state) && place.state !== 'error' && !withdrawal)
    await thawInstance(tx, entry.instanceId)
  return to
}

/** Reasons are shown only while they apply: an entry that a person has cancelled has none. */
const reasonsAfter = (step: EntryStep, { state }: EntryPlace): EntryChange => {
  if (step.event === 'block') return { reasons: reasonsOf(step) }
  return state === 'canceled' ? { reasons: [] } : {}
}

/** Every reason of a block; a failed job has one. */
const reasonsOf = ({ change, reason }: EntryStep): readonly Readonly<Record<string, unknown>>[] => {
  const given = change?.reasons ?? []
  return given.length > 0 ? given : [{ ...reason }]
}

/** An unchanged block, or one with another number of free bytes alone, is not reported again. */
const isBlockedAsBefore = (entry: EntryAtWork, step: EntryStep): boolean => {
  const told = (reasons: readonly Readonly<Record<string, unknown>>[]) =>
    JSON.stringify(reasons.map(({ code, message }) => [code, String(message).replace(/ \d+(?=[ .,])/g, '')]))
  return step.event === 'block' && entry.state === 'blocked' && told(entry.reasons) === told(reasonsOf(step))
}

/** A reset whose withdrawal failed is repeated; it was reported when it began. */
const isResetOnceMore = ({ intent }: EntryAtWork, event: EntryEvent): boolean =>
  event === 'reset' && intent?.verb === 'reset' && intent.begun === true

const isToldAlready = (entry: EntryAtWork, step: EntryStep): boolean =>
  isBlockedAsBefore(entry, step) || isResetOnceMore(entry, step.event)

/** A request ends when it is carried out. Steps of a job leave it in place. */
const requestAfter = (event: EntryEvent, to: EntryPlace | undefined): EntryChange => {
  if (!to) return { intent: { verb: 'reset', force: true, begun: true } }
  return ['cancel', 'retry', 'resolve', 'reset'].includes(event) ? { intent: null } : {}
}

/**
 * The instance of a blocked entry is still synced, so that its restriction can go; once the entry goes on, the
 * instance is frozen with its facts of that moment.
 */
const followRecord = async (
  tx: Tx,
  batch: BatchOfEntry,
  entry: EntryAtWork,
  event: EntryEvent,
): Promise<EntryChange> => {
  if (event === 'block') await thawInstance(tx, entry.instanceId)
  const begins =
    event === 'unblock' || event === 'retry' || (event === 'resolve' && entry.stage === 'background')
  if (!begins) return {}
  await freezeInstances(tx, { ids: [entry.instanceId], by: `batch/${batch.name}` })
  const instance = await findInstanceById(tx, entry.instanceId)
  if (!instance) return {}
  const again = event === 'retry'
  // A retry or a resolve adopts changes and reports what does not fit. An unblocked entry has the current record.
  const known = event === 'unblock' ? instance.facts : await adoptPending(tx, instance)
  const facts = applyOverrides(known, instance.overrides)
  // The entry ends with the power state from the start of its batch: by now the source may be off because of Drover.
  const running = again ? entry.facts.running === true : facts.running
  return {
    facts: { ...facts, running },
    running: endsRunning(running, instance.overrides),
    ...(again ? { baseline: null } : {}),
  }
}

/**
 * Windows and constraints are held from the request of a cutover and only while it may go on. A constraint is also
 * held until a source that we switched off runs again, because it limits how many are off at once.
 */
const leaving = (entry: EntryAtWork, to: EntryPlace, from: EntryPlace): EntryChange => {
  if (!hasEnded(to.state) && !(isCommitted(from) && !isCommitted(to))) return {}
  const staysOff = entry.sourceStoppedAt !== null && to.state !== 'finished'
  return { windowId: null, ...(staysOff ? {} : { constraintName: null }) }
}

interface Withdrawal {
  readonly source: 'keep' | 'start' | 'start-any'
  readonly target: 'keep' | 'destroy'
}

const withdrawalOf = (entry: EntryAtWork, rule: EntryRule, step: EntryStep): Withdrawal | undefined => {
  const owed = rule.source === 'start' && entry.sourceStoppedAt !== null
  const source = owed ? (personDecided(entry, step) ? 'start-any' : 'start') : 'keep'
  const wanted = rule.target === 'destroy' || (rule.target === 'asked' && step.cleanup === true)
  const target = wanted && (entry.machineRef !== null || entry.placement !== null) ? 'destroy' : 'keep'
  return source === 'keep' && target === 'keep' ? undefined : { source, target }
}

/** A person has decided that the source is to run, by a cancel, a reset or an answer to the question. */
const personDecided = (entry: EntryAtWork, { event }: EntryStep): boolean =>
  event === 'cancel' || event === 'reset' || (entry.state === 'error' && entry.reason.startsWith('identity-'))

/** The source is off or about to be: before entries that have not begun, behind withdrawals. */
export const committedPriority = 40
/** Withdrawals go before all other work. */
const withdrawPriority = 50

export interface EntryJobRequest {
  readonly kind: EntryJobKind
  /** The entry's source is off because of Drover. */
  readonly committed?: boolean
  readonly payload?: Record<string, unknown>
  readonly tokens?: readonly string[]
  /** A withdrawal that was requested now, not a repeated one. */
  readonly anew?: boolean
}

/** A job of an entry, as it is sent. */
export const jobOfEntry = (batch: BatchOfEntry, entryId: string, work: EntryJobRequest): NewJob => ({
  kind: work.kind,
  payload: { batch: batch.name, entry_id: entryId, ...work.payload },
  subject: { type: 'entry', id: entryId },
  // A stopped batch still withdraws: its pause must not hold that back.
  lane: `${work.kind === 'withdraw-entry' ? 'withdraw' : 'batch'}/${batch.name}`,
  ...(work.tokens ? { tokens: work.tokens } : {}),
  priority: priorityOf(work),
  createdBy: `batch/${batch.name}`,
})

const priorityOf = ({ kind, committed = kind === 'final-verify' }: EntryJobRequest): number =>
  kind === 'withdraw-entry' ? withdrawPriority : committed ? committedPriority : 0

/** Sends a job for the entry, which becomes the entry's current job. */
export const sendJob = async (
  tx: Tx,
  batch: BatchOfEntry,
  entry: Pick<EntryAtWork, 'id'>,
  work: EntryJobRequest,
): Promise<string> => {
  const [sent] = await enqueue(tx, [jobOfEntry(batch, entry.id, work)])
  if (!sent) throw new Error('A job was sent but not stored.')
  if (work.kind === 'withdraw-entry' && work.payload?.target === 'destroy')
    await oweMachine(tx, {
      entryId: entry.id,
      jobId: sent.id,
      anew: work.anew === true,
      actor: `batch/${batch.name}`,
    })
  return sent.id
}

const send = async (
  tx: Tx,
  batch: BatchOfEntry,
  entry: EntryAtWork,
  withdrawal: Withdrawal,
): Promise<string> => {
  const tokens = await entryDependsOn(tx, entry)
  const anew = !isResetOnceMore(entry, 'reset')
  return sendJob(tx, batch, entry, { kind: 'withdraw-entry', payload: { ...withdrawal }, tokens, anew })
}

const tellOf = async (
  tx: Tx,
  entry: EntryAtWork,
  told: { readonly from: EntryPlace; readonly to: EntryPlace | undefined; readonly step: EntryStep },
): Promise<void> => {
  const { from, to, step } = told
  await insertAuditEvent(tx, {
    type: `entry.${step.event}`,
    subject: { type: 'entry', id: entry.id },
    actor: step.by,
    from: from.state,
    to: to?.state ?? 'gone',
    reason: step.reason.message,
    detail: {
      code: step.reason.code,
      stage: to?.stage ?? from.stage,
      batch_id: entry.batchId,
      instance_id: entry.instanceId,
    },
  })
}

const refusedStep = (
  entry: EntryAtWork,
  event: EntryEvent,
  why: 'not-from-here' | 'needs-force',
): DroverError =>
  new DroverError({
    code: why === 'needs-force' ? 'entry-needs-force' : 'entry-not-from-here',
    class: 'conflict',
    message:
      why === 'needs-force'
        ? `The state of the entry is ${entry.state}: "${event}" throws away what was done, and needs force.`
        : `The state of the entry is ${entry.state}: "${event}" is not possible from there.`,
    remedy:
      why === 'needs-force'
        ? 'Say force when that is what you want.'
        : 'Look at the entry: it lists what is possible.',
    detail: { state: entry.state, stage: entry.stage, event },
  })
