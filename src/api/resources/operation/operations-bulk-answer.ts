import { z } from '@hono/zod-openapi'
import type { ChosenMachine } from '../../../../db/queries/machines/choose-machines.ts'
import { type scanFields, scanShape } from '../../lists/scan.ts'
import { writeCursor } from '../../wire/page.ts'
import { operationReason } from './operation-view.ts'

const shownRefused = 50

/** Names the cursors of this list. */
export const bulkList = 'bulk-operations'

const outcomeSchema = z.object({
  machine_id: z.uuid(),
  machine: z.string(),
  outcome: z.enum(['admitted', 'superseded', 'queued', 'refused']).openapi({
    description: '`superseded`: admitted in the place of an older one.',
  }),
  operation_id: z.uuid().nullable(),
  supersedes: z.uuid().nullable(),
  reason: operationReason.nullable(),
  message: z.string().nullable(),
  blocker: z.uuid().nullable(),
})

/** What became of one machine. */
export type Outcome = z.infer<typeof outcomeSchema>

/** The answer to a request for many machines. */
export const answerSchema = z
  .object({
    dry_run: z.boolean(),
    matched: z.int().openapi({ description: 'Machines that fit; with a cursor, behind it.' }),
    left: z.int(),
    next_cursor: z.string().nullable(),
    admitted: z.int(),
    superseded: z.int(),
    queued: z.int(),
    refused: z.array(
      z.object({
        reason: operationReason,
        count: z.int(),
        machine_ids: z.array(z.uuid()).openapi({ description: `The first ${shownRefused}.` }),
      }),
    ),
    items: z.array(outcomeSchema),
    ...scanShape,
  })
  .openapi('OperationsBulkAnswer')

export type Answer = z.infer<typeof answerSchema>

/** Which machines are meant: how many, and the first of them. */
export interface Chosen {
  readonly matched: number
  readonly chosen: readonly ChosenMachine[]
  readonly scanned: ReturnType<typeof scanFields>
}

const refusedByReason = (items: readonly Outcome[]): Answer['refused'] => {
  const byReason = new Map<NonNullable<Outcome['reason']>, string[]>()
  for (const { reason, machine_id: id } of items)
    if (reason !== null) byReason.set(reason, [...(byReason.get(reason) ?? []), id])
  return [...byReason].map(([reason, ids]) => ({
    reason,
    count: ids.length,
    machine_ids: ids.slice(0, shownRefused),
  }))
}

/** What became of all of them. */
export const summarize = (items: Outcome[], { matched, scanned }: Chosen, dry: boolean): Answer => {
  const left = matched - items.length
  const last = items.at(-1)
  const count = (outcome: Outcome['outcome']) => items.filter((item) => item.outcome === outcome).length
  return {
    dry_run: dry,
    matched,
    left,
    next_cursor: left > 0 && last ? writeCursor(bulkList, last.machine_id) : null,
    admitted: count('admitted'),
    superseded: count('superseded'),
    queued: count('queued'),
    refused: refusedByReason(items),
    items,
    ...scanned,
  }
}
