import { z } from '@hono/zod-openapi'
import type { JobEventLine } from '../../../../db/queries/events/list-job-events.ts'
import type { FeedEvent } from '../../../../db/queries/events/read-events-after.ts'
import { formatCursor } from '../../../ledger/events/event-cursor.ts'
import { anything, subjectSchema, timestamp } from '../../wire/schemas.ts'
import { toWire } from '../../wire/wire.ts'

export const eventSchema = z
  .object({
    id: z
      .string()
      .openapi({ description: 'Its place in the order of all events; a cursor.', example: '1-7042-81' }),
    at: timestamp,
    type: z.string().openapi({ example: 'job.succeeded' }),
    subject: subjectSchema,
    job_id: z.uuid().nullable(),
    actor: z.string(),
    from: z.string().nullable(),
    to: z.string().nullable(),
    reason: z.string().nullable(),
    detail: anything.nullable(),
  })
  .openapi('Event')

export type EventView = z.infer<typeof eventSchema>

export const viewEvent = (event: FeedEvent): EventView =>
  toWire(eventSchema, event, { id: formatCursor(event.cursor), job_id: event.job })

export const viewJobEvent = (line: JobEventLine): EventView =>
  toWire(eventSchema, line, {
    id: formatCursor(line),
    subject: { type: line.subjectType, id: line.subjectId },
    from: line.fromState,
    to: line.toState,
  })
