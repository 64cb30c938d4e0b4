import { z } from '@hono/zod-openapi'
import type { Tx } from '../../../../db/client.ts'
import { countBusyEntries } from '../../../../db/queries/batches/list-batches.ts'
import { deleteBatchRow, deleteEndedEntries } from '../../../../db/queries/batches/write-batch.ts'
import { countEntries } from '../../../../db/queries/entries/entry-rows.ts'
import { findFinished, findLeftCopies } from '../../../../db/queries/entries/finished-entries.ts'
import { insertAuditEvent } from '../../../../db/queries/events/insert-audit-event.ts'
import { deletePause } from '../../../../db/queries/fleet/pauses.ts'
import { deleteLimit } from '../../../../db/queries/tokens/limits.ts'
import { firstCopyToken } from '../../../domain/migration/batch/batch-settings.ts'
import { requireForgettingConfirmed } from '../../../migration/entry/forget-finished.ts'
import type { ApiDeps } from '../../http/env.ts'
import { requireVersion } from '../../wire/preconditions.ts'
import { problem } from '../../wire/problem.ts'
import { lockNamedBatch } from './batch-edit.ts'

/** Entries in one transaction: their extents go with them, so it stays short. */
const partSize = 20
const budgetPart = 0.6

export const removingBatch = z
  .object({
    removing: z.literal(true),
    entries_left: z.int(),
    finished_left: z.int().openapi({ description: 'To be confirmed by the request that goes on.' }),
  })
  .openapi('BatchRemoving')

type Removing = z.infer<typeof removingBatch>

interface Asked {
  readonly name: string
  readonly ifMatch: string | undefined
  readonly by: string
  readonly confirmedFinished: number | undefined
}

/** Removes a batch, a large one in parts; undefined: it is gone. Finished machines stay, and so do certificates. */
export const removeBatch = async (deps: ApiDeps, asked: Asked): Promise<Removing | undefined> => {
  const startMs = deps.clock.monotonicMs()
  const spent = () => deps.clock.monotonicMs() - startMs > deps.limits.requestMs * budgetPart
  for (let first = true; ; first = false) {
    const left = (await deps.db.begin((tx) => removePart(tx, asked, first))) as Left
    if (left.entries === 0) return undefined
    if (spent()) return { removing: true, entries_left: left.entries, finished_left: left.finished }
  }
}

interface Left {
  readonly entries: number
  readonly finished: number
}

/** One part; how many entries are left. None: the batch itself is gone. What was confirmed is asked of the first part. */
const removePart = async (tx: Tx, asked: Asked, first: boolean): Promise<Left> => {
  const batch = await lockNamedBatch(tx, asked.name)
  requireVersion(asked.ifMatch, batch.version)
  if (batch.state !== 'defined' && batch.state !== 'finished')
    throw problem('batch-in-use', `The batch is ${batch.state}.`, { remedy: 'Stop it and reset it first.' })
  const busy = await countBusyEntries(tx, batch.id)
  if (busy > 0)
    throw problem(
      'batch-in-use',
      `${busy} of its entries ${busy === 1 ? 'is' : 'are'} still on the way, or being put right.`,
    )
  const copies = await findLeftCopies(tx, batch.id)
  if (copies.count > 0)
    throw problem(
      'batch-has-copies',
      `${copies.count} of its entries ${copies.count === 1 ? 'has a copy' : 'have copies'} on the target: ${copies.names.join(', ')}.`,
    )
  if (first) requireForgettingConfirmed(await findFinished(tx, batch.id), asked.confirmedFinished)
  await deleteEndedEntries(tx, batch.id, partSize)
  const counts = await countEntries(tx, batch.id)
  const entries = Object.values(counts).reduce((sum, count) => sum + count, 0)
  if (entries > 0) return { entries, finished: counts.finished ?? 0 }
  await deleteLimit(tx, firstCopyToken(batch.name))
  await deletePause(tx, { scope: 'lane', name: `batch/${batch.name}` }, asked.by)
  await deleteBatchRow(tx, batch.id)
  await insertAuditEvent(tx, {
    type: 'batch.deleted',
    subject: { type: 'batch', id: batch.name },
    actor: asked.by,
    from: batch.state,
  })
  return { entries: 0, finished: 0 }
}
