import type { Tx } from '../../../db/client.ts'
import { findBatchById, moveBatch } from '../../../db/queries/batches/batch-rows.ts'
import { thawInstance } from '../../../db/queries/batches/freeze-instances.ts'
import {
  deleteEntry,
  type EntryAtWork,
  intendReset,
  lockEntry,
  writeEntry,
} from '../../../db/queries/entries/entry-rows.ts'
import { insertAuditEvent } from '../../../db/queries/events/insert-audit-event.ts'
import type { BatchRow } from '../../../db/schema/migration.ts'
import { type BatchState, mayHappen } from '../../domain/migration/batch/batch-table.ts'
import { answerVerb } from '../../domain/migration/entry/answer-verb.ts'
import { isMigrating } from '../../domain/migration/entry/entry.ts'
import type { EntryJobKind, Intent } from '../../domain/migration/entry/entry-facts.ts'
import { DroverError } from '../../errors.ts'
import { type CancelOutcome, cancelInTransaction } from '../../ledger/jobs/cancel.ts'
import { asItIs, moveEntry, placeOf } from './apply-entry.ts'
import { requireForgettingConfirmed } from './forget-finished.ts'

export interface EntryVerbAsk {
  readonly id: string
  readonly by: string
  readonly verb: 'cancel' | 'retry' | 'resolve'
  readonly force: boolean
  readonly cleanup: boolean
}

export interface EntryVerbAnswer {
  readonly batch: BatchRow
  /** `done`: carried out. `asked`: carried out as soon as the running job has stopped. */
  readonly outcome: 'done' | 'asked'
  /** Told to the workers after the commit. */
  readonly canceled?: CancelOutcome
}

const says: Readonly<Record<EntryVerbAsk['verb'], string>> = {
  cancel: 'A person gave it up.',
  retry: 'A person wants it tried again.',
  resolve: 'A person has decided.',
}

/**
 * A person's verb on one entry, in the caller's transaction: carried out at once, or recorded until its job has
 * stopped.
 */
export const actOnEntry = async (tx: Tx, ask: EntryVerbAsk): Promise<EntryVerbAnswer> => {
  const { entry, batch } = await open(tx, ask.id)
  const { verb, force, cleanup, by } = ask
  const answer = answerVerb({
    place: placeOf(entry),
    verb,
    force,
    // With nothing left on the target there is nothing to clean up.
    cleanup: cleanup && (entry.state !== 'canceled' || hasLeftovers(entry)),
    openJob: entry.busy ? (entry.jobKind as EntryJobKind) : null,
  })
  if (answer.do === 'refuse') throw refused(entry, verb, answer.why)
  const reason = { code: verb, message: says[verb] }
  if (answer.do === 'apply') {
    // A finished batch is opened again for it.
    if (verb === 'retry' && mayHappen(batch.state as BatchState, 'reopen'))
      await moveBatch(tx, { batch, event: 'reopen', message: 'An entry is tried again.', by })
    await moveEntry(tx, batch, entry, { event: verb, reason, by, force, cleanup, change: changeOf(verb) })
    return { batch, outcome: 'done' }
  }
  const intent: Intent = { verb: 'cancel', force, cleanup }
  await writeEntry(tx, {
    ...asItIs(entry),
    reason: 'cancel-asked',
    message: 'A person gave it up; its job is letting go.',
    change: { intent },
  })
  await tell(tx, entry, `entry.${verb}-asked`, by)
  if (!answer.callOff || entry.jobId === null) return { batch, outcome: 'asked' }
  return {
    batch,
    outcome: 'asked',
    canceled: await cancelInTransaction(tx, entry.jobId, { by, reason: says[verb] }),
  }
}

/** Whether something of ours is or may be on the target. */
export const hasLeftovers = ({
  machineRef,
  placement,
}: Pick<EntryAtWork, 'machineRef' | 'placement'>): boolean => machineRef !== null || placement !== null

/** A resolve lets the conflict through once; a retry starts with a count of zero. */
const changeOf = (verb: EntryVerbAsk['verb']) => {
  if (verb === 'resolve') return { resolved: true, retries: 0 }
  return verb === 'retry' ? { retries: 0, error: null, pending: null } : {}
}

export interface EntryRemoval {
  readonly id: string
  readonly by: string
  /** 1 for a finished entry. */
  readonly confirmedFinished?: number | undefined
  /** Its copy on the target is destroyed first. */
  readonly cleanup?: boolean
}

/**
 * Removes an entry on which nothing is in progress. `leaving`: its copy is removed first. No copy of ours stays
 * without an entry; a finished machine stays, and the person has agreed to forget its entry.
 */
export const removeEntry = async (tx: Tx, ask: EntryRemoval): Promise<'gone' | 'leaving'> => {
  const { entry } = await open(tx, ask.id)
  const { busy, state } = entry
  const owesSource = entry.sourceStoppedAt !== null && state !== 'finished'
  if (busy || isMigrating(placeOf(entry).state) || owesSource)
    throw new DroverError({
      code: 'entry-migrating',
      class: 'conflict',
      message: `The state of the entry is ${state}${busy ? ', and a job works on it' : ''}: it cannot be taken off the list.`,
      remedy: 'Cancel it first.',
      detail: { state },
    })
  if (state === 'finished')
    requireForgettingConfirmed({ count: 1, names: [nameOf(entry)] }, ask.confirmedFinished)
  else if (hasLeftovers(entry)) {
    if (ask.cleanup !== true) throw hasCopy(entry)
    await tell(tx, entry, 'entry.removal-asked', ask.by)
    await intendReset(tx, { entryId: entry.id })
    return 'leaving'
  }
  await tell(tx, entry, 'entry.removed', ask.by)
  await thawInstance(tx, entry.instanceId)
  await deleteEntry(tx, entry.id)
  return 'gone'
}

const nameOf = ({ facts, id }: EntryAtWork): string => (typeof facts.name === 'string' ? facts.name : id)

const hasCopy = (entry: EntryAtWork): DroverError =>
  new DroverError({
    code: 'entry-has-copy',
    class: 'conflict',
    message: `${nameOf(entry)} has a copy on its target${entry.machineRef === null ? ', or may have' : ` (${entry.machineRef})`}: nobody would know whose that is.`,
    remedy: 'Remove it with cleanup: its copy is destroyed first. Or retry it.',
    field: 'cleanup',
    detail: { machine: entry.machineRef },
  })

const open = async (tx: Tx, id: string): Promise<{ entry: EntryAtWork; batch: BatchRow }> => {
  const entry = await lockEntry(tx, id)
  const batch = entry && (await findBatchById(tx, entry.batchId))
  if (entry && batch) return { entry, batch }
  throw new DroverError({
    code: 'entry-unknown',
    class: 'config',
    message: `There is no entry ${id}.`,
    remedy: 'Look at the queue.',
    field: 'id',
  })
}

const tell = (tx: Tx, entry: EntryAtWork, type: string, by: string): Promise<void> =>
  insertAuditEvent(tx, {
    type,
    subject: { type: 'entry', id: entry.id },
    actor: by,
    from: entry.state,
    detail: { batch_id: entry.batchId, instance_id: entry.instanceId },
  })

const refused = (
  entry: EntryAtWork,
  verb: string,
  why: 'not-from-here' | 'needs-force' | 'being-put-right',
): DroverError => {
  const message = {
    'not-from-here': `The state of the entry is ${entry.state}: ${verb} is not possible from there.`,
    'needs-force': `The state of the entry is ${entry.state}: to ${verb} it throws its work away, and needs force.`,
    'being-put-right': 'What the entry left outside is still being put right.',
  }[why]
  const remedy = {
    'not-from-here': 'Look at the entry: it lists what is possible.',
    'needs-force': `Say force when that is what you want.`,
    'being-put-right': 'Wait for that to end, then ask again.',
  }[why]
  return new DroverError({
    code: `entry-${why}`,
    class: 'conflict',
    message,
    remedy,
    detail: { state: entry.state, stage: entry.stage, verb },
  })
}
