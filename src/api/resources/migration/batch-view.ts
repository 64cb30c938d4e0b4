import { z } from '@hono/zod-openapi'
import type { Queryable } from '../../../../db/client.ts'
import { listWindows } from '../../../../db/queries/batches/batch-rows.ts'
import {
  type BatchLine,
  type BatchProgress,
  readBatchProgress,
} from '../../../../db/queries/batches/list-batches.ts'
import { countEntries, countHeldWindows } from '../../../../db/queries/entries/entry-rows.ts'
import type { BatchRow, WindowRow } from '../../../../db/schema/migration.ts'
import { nameSchema } from '../../../domain/job/kind.ts'
import {
  batchConfig,
  batchConstraints,
  batchDefaults,
  batchProbes,
  batchWindows,
} from '../../../domain/migration/batch/batch-settings.ts'
import { batchStates } from '../../../domain/migration/batch/batch-table.ts'
import { entryStates } from '../../../domain/migration/entry/entry.ts'
import { rateHoldsMs } from '../../../domain/migration/schedule/progress-pace.ts'
import { momentOrNull } from '../../http/route.ts'
import { anything, timestamp } from '../../wire/schemas.ts'
import { toWire } from '../../wire/wire.ts'
import { downListSchema, readDown } from '../fleet/down-view.ts'

/** Everything that a person says of a batch: the body of POST and of PUT. */
export const batchBody = z
  .strictObject({
    name: nameSchema,
    include_expression: z.string().trim().min(1, 'must not be empty').max(4_096),
    defaults: batchDefaults,
    config: batchConfig.prefault({}),
    migration_windows: batchWindows,
    constraints: batchConstraints,
    probes: batchProbes,
    require_approval: z.boolean().default(false),
  })
  .openapi('BatchSettings', {
    example: {
      name: 'wave-1',
      include_expression: 'source == "paris" && has_tag("wave", "1")',
      defaults: { placement: { target: 'oslo', target_project: 'default', storage_pool: 'fast' } },
      migration_windows: [
        { name: 'saturday', start: '2026-11-21T22:00:00Z', end: '2026-11-22T04:00:00Z', capacity: 20 },
      ],
    } as never,
  })

export type BatchBody = z.infer<typeof batchBody>

const approvalSchema = z
  .object({ plan_id: z.uuid(), digest: z.string(), by: z.string(), at: timestamp })
  .openapi('BatchApproval')

const entryCounts = z
  .partialRecord(z.enum(entryStates), z.int())
  .openapi({ description: 'How many entries are in which state; a state without entries is not named.' })

const summaryShape = {
  name: z.string(),
  state: z.enum(batchStates),
  message: z.string(),
  entries: entryCounts,
  include_expression: z.string(),
  target: z.string().openapi({ description: 'The default one.' }),
  require_approval: z.boolean(),
  approval: approvalSchema.nullable(),
  created_by: z.string(),
  created_at: timestamp,
  updated_at: timestamp,
  started_at: timestamp.nullable(),
  finished_at: timestamp.nullable(),
}

export const batchSummary = z.object(summaryShape).openapi('BatchSummary')

export type BatchSummary = z.infer<typeof batchSummary>

const windowSchema = z.object({
  name: z.string(),
  start: timestamp.nullable(),
  end: timestamp.nullable(),
  lockout: timestamp.nullable(),
  capacity: z.int(),
  held: z.int().openapi({ description: 'Entries that have been given this window.' }),
})

export const batchSchema = z
  .object({
    ...summaryShape,
    defaults: anything,
    config: anything,
    migration_windows: z.array(windowSchema),
    constraints: z.array(anything),
    probes: z.array(anything),
    version: z.int().openapi({ description: 'Of the ETag: grows with every change of the settings.' }),
    down: downListSchema.openapi({ description: 'Whose sources are off for the migration now.' }),
    matched: z.int().openapi({ description: 'Instances that matched when they were last searched for.' }),
    progress: z.object({
      bytes_done: z
        .number()
        .openapi({ description: 'Copied at least once; never goes back but by a reset.' }),
      bytes_total: z.number(),
      bytes_per_second: z.number(),
      eta_seconds: z.number().nullable().openapi({ description: 'Of the first copies; null: not known.' }),
    }),
  })
  .openapi('Batch')

type Counts = z.infer<typeof entryCounts>

const commonOf = (row: BatchRow, entries: Readonly<Record<string, number>>) => ({
  state: row.state as (typeof batchStates)[number],
  entries: entries as Counts,
  target: String((row.defaults.placement as { target?: unknown } | undefined)?.target ?? ''),
  approval: row.approval as z.infer<typeof approvalSchema> | null,
})

export const viewBatchSummary = (row: BatchLine) => toWire(batchSummary, row, commonOf(row, row.entries))

export type BatchView = z.infer<typeof batchSchema>

const viewHeldWindow = (window: WindowRow, held: ReadonlyMap<string, number>) =>
  toWire(windowSchema, window, {
    start: momentOrNull(window.startsAt),
    end: momentOrNull(window.endsAt),
    lockout: momentOrNull(window.lockoutAt),
    held: held.get(window.id) ?? 0,
  })

const viewProgress = ({ bytesDone, bytesTotal, bytesPerSecond }: BatchProgress) => ({
  bytes_done: Math.round(bytesDone),
  bytes_total: Math.round(bytesTotal),
  bytes_per_second: Math.round(bytesPerSecond),
  eta_seconds: bytesPerSecond > 0 ? Math.ceil((bytesTotal - bytesDone) / bytesPerSecond) : null,
})

/** A batch with what hangs on it, read now. */
export const readBatch = async (db: Queryable, row: BatchRow): Promise<BatchView> => {
  const windows = await listWindows(db, row.id)
  const held = await countHeldWindows(db, row.id)
  const entries = await countEntries(db, row.id)
  const progress = await readBatchProgress(db, row.id, rateHoldsMs)
  const { probes, ...config } = row.config
  return toWire(batchSchema, row, {
    ...commonOf(row, entries),
    config,
    migration_windows: windows.map((window) => viewHeldWindow(window, held)),
    probes: batchProbes.parse(probes).map((probe) => ({ ...probe })),
    down: await readDown(db, { batch: row.name }),
    matched: progress.matched,
    progress: viewProgress(progress),
  })
}
