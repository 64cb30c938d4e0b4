import { z } from '@hono/zod-openapi'
import type { Queryable } from '../../../../db/client.ts'
import type { EntryLine } from '../../../../db/queries/entries/list-entries.ts'
import { type DownFilter, listDown } from '../../../../db/queries/sites/list-down.ts'
import { awayText } from '../../../domain/inventory/connectivity.ts'
import type { BatchState } from '../../../domain/migration/batch/batch-table.ts'
import { type Down, downOf, downText } from '../../../domain/migration/batch/downtime.ts'
import type { EntryPlace } from '../../../domain/migration/entry/entry.ts'
import { moment, momentOrNull } from '../../http/route.ts'
import { timestamp } from '../../wire/schemas.ts'

const downShape = {
  since: timestamp.openapi({ description: 'When it was asked to go off.' }),
  until: timestamp.nullable().openapi({
    description:
      'When it is on again at the latest, here or at its target; null: nothing that has a time does that.',
  }),
  because: z.string().openapi({ description: 'What keeps it off, and what brings it back.' }),
}

export const downSchema = z.object(downShape).openapi('Down')

export type DownView = z.infer<typeof downSchema>

export const downListSchema = z
  .object({
    count: z.int(),
    message: z.string().openapi({ description: 'Who is off, since when, until when; empty: nobody.' }),
    entries: z
      .array(z.object({ id: z.uuid(), instance: z.string(), ...downShape }))
      .openapi({ description: 'Those that are off the longest; `count` may be more.' }),
  })
  .openapi('DownList')
export type DownListView = z.infer<typeof downListSchema>

const downOfLine = (row: EntryLine): Down | null =>
  downOf({
    now: row.now.getTime(),
    place: { state: row.state, stage: row.stage } as EntryPlace,
    reason: row.reason,
    stoppedAt: row.sourceStoppedAt?.getTime() ?? null,
    batchState: row.batchState as BatchState,
    wanted: row.intent !== null,
    withdrawFailed: row.jobKind === 'withdraw-entry' ? (row.jobError?.message ?? null) : null,
    window: row.window === null ? null : { name: row.window, endsAt: row.windowEndsAt?.getTime() ?? null },
    away: awayOf(row).map(({ message }) => message),
  })

/** The platforms on its way that do not answer, each with the sentence that says so. */
export const awayOf = (row: EntryLine) =>
  row.away.map((site) => ({
    role: site.role,
    name: site.name,
    since: Date.parse(site.since),
    message: awayText({ ...site, since: Date.parse(site.since), message: site.message ?? '' }),
  }))

const viewMoments = ({ since, until, because }: Down): z.infer<typeof downSchema> => ({
  since: moment(new Date(since)),
  until: momentOrNull(until === null ? null : new Date(until)),
  because,
})

/** Since when the source of an entry is off on our account, and until when; null: it is not. */
export const viewDown = (row: EntryLine): z.infer<typeof downSchema> | null => {
  const down = downOfLine(row)
  return down && viewMoments(down)
}

/** As many as a person reads; the count is of all. */
const downMax = 20

/** Who is off because of us: how many, the first of them, and all that in a sentence. */
export const readDown = async (db: Queryable, filter: DownFilter): Promise<DownListView> => {
  const { count, rows } = await listDown(db, filter, downMax)
  const seen = rows.flatMap((row) => {
    const down = downOfLine(row)
    return down ? [{ id: row.id, name: row.name, down }] : []
  })
  return {
    count,
    message: downText({ count, entries: seen.map(({ name, down }) => ({ name, ...down })) }),
    entries: seen.map(({ id, name, down }) => ({ id, instance: name, ...viewMoments(down) })),
  }
}
