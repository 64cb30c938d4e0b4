import { z } from '@hono/zod-openapi'
import type { Queryable } from '../../../../db/client.ts'
import type { EntryLine } from '../../../../db/queries/entries/list-entries.ts'
import { type DownFilter, listDown } from '../../../../db/queries/sites/list-down.ts'
import { awayText } from '../../../domain/inventory/connectivity.ts'
import type { BatchState } from '../../../domain/migration/batch/batch-table.ts'
import { type Down, downHead, downOf, downText, downTimes } from '../../../domain/migration/batch/downtime.ts'
import type { EntryPlace } from '../../../domain/migration/entry/entry.ts'
import { sourceStopOf } from '../../../domain/migration/entry/source-stop.ts'
import { moment, momentOrNull } from '../../http/route.ts'
import { timestamp } from '../../wire/schemas.ts'

const downShape = {
  since: timestamp.openapi({
    description: 'When it was seen off; while it still runs (`shutdown`): when it was asked to shut down.',
  }),
  shutdown: z
    .object({
      asked_at: timestamp,
      until: timestamp.openapi({ description: 'The end of the time that its guest is given.' }),
      end: z.enum(['forced', 'given-up']).openapi({
        description: 'What is done then if it still runs: its plug is pulled, or it is left running.',
      }),
    })
    .nullable()
    .openapi({ description: 'It was asked to shut down and still runs; null: it is off.' }),
  times: z.string().openapi({ description: 'All these times in words.' }),
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
    count: z.int().openapi({ description: 'Machines that are off, or were asked to shut down.' }),
    shutting_down: z.int().openapi({ description: 'So many of them still run.' }),
    head: z.string().openapi({ description: 'How many are off, and how many are about to be.' }),
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
    stop: sourceStopOf(row),
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

const viewMoments = (down: Down): z.infer<typeof downSchema> => ({
  since: moment(new Date(down.since)),
  shutdown: down.shutdown && {
    asked_at: moment(new Date(down.shutdown.askedAt)),
    until: moment(new Date(down.shutdown.until)),
    end: down.shutdown.end,
  },
  times: downTimes(down),
  until: momentOrNull(down.until === null ? null : new Date(down.until)),
  because: down.because,
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
  const { count, shuttingDown, rows } = await listDown(db, filter, downMax)
  const seen = rows.flatMap((row) => {
    const down = downOfLine(row)
    return down ? [{ id: row.id, name: row.name, down }] : []
  })
  return {
    count,
    shutting_down: shuttingDown,
    head: count === 0 ? '' : downHead(count, shuttingDown),
    message: downText({ count, shuttingDown, entries: seen.map(({ name, down }) => ({ name, ...down })) }),
    entries: seen.map(({ id, name, down }) => ({ id, instance: name, ...viewMoments(down) })),
  }
}
