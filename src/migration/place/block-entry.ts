import type { Tx } from '../../../db/client.ts'
import { findOpenEffects, settleEffect } from '../../../db/queries/effects/effects.ts'
import { type EntryAtWork, lockEntryOfJob } from '../../../db/queries/entries/entry-rows.ts'
import { pauseMs, type Reason } from '../../domain/migration/entry/entry-facts.ts'
import { explainReason } from '../../domain/migration/entry/reasons.ts'
import type { RecordedError } from '../../errors.ts'
import { actorOf, type DomainChange } from '../../ledger/job.ts'
import { moveEntry } from '../entry/apply-entry.ts'
import { type EntryWork, leaveEntryWork, movedOn } from '../entry/entry-work.ts'

/** Blocks the entry with every reason found. The scheduler looks at it again after a pause that grows. */
export const blockEntry = (entryWork: EntryWork, reasons: readonly Reason[]): DomainChange =>
  leaveEntryWork(entryWork, async (tx, entry) => {
    await block(tx, entryWork, entry, reasons)
  })

const block = async (
  tx: Tx,
  { batch, ctx }: EntryWork,
  entry: EntryAtWork,
  reasons: readonly Reason[],
): Promise<void> => {
  const [first] = reasons
  if (!first) throw new Error('An entry is blocked for a reason.')
  const tries = entry.tries + 1
  await moveEntry(tx, batch.row, entry, {
    event: 'block',
    reason: first,
    by: actorOf(ctx),
    tries,
    lookAt: new Date(entry.now.getTime() + pauseMs(tries)),
    // The error marks a failed attempt, as opposed to a restriction: other settings may mend it.
    change: { reasons: reasons.map((reason) => ({ ...reason })), error: failureOf(first) },
  })
}

const failureOf = ({ code, message }: Reason): RecordedError => ({
  code,
  class: 'config',
  message,
  remedy: explainReason({ code, state: 'blocked' }).remedy,
})

/** The target refused before anything was made: the entry goes back to its waiting state with the reason. */
export const putBack = (entryWork: EntryWork, why: Reason): DomainChange =>
  leaveEntryWork(entryWork, async (tx, entry) => {
    const { batch, ctx } = entryWork
    for (const { id } of await findOpenEffects(tx, ctx.job.id))
      await settleEffect(tx, { id, actor: actorOf(ctx), outcome: 'undone' })
    // Nothing was made, so no withdrawal is sent.
    const empty = { ...entry, placement: null, machineRef: null }
    await moveEntry(tx, batch.row, empty, {
      event: 'create-put-off',
      reason: why,
      by: actorOf(ctx),
      jobId: ctx.job.id,
      tries: entry.tries,
      change: { placement: null, machineRef: null },
    })
    const waiting = await lockEntryOfJob(tx, { entryId: entry.id, jobId: ctx.job.id })
    if (!waiting) throw movedOn(entry.id)
    await block(tx, entryWork, waiting, [why])
  })
