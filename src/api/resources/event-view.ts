import { z } from '@hono/zod-openapi'
import type { JobEventLine } from '../../../db/queries/list-job-events.ts'
import type { FeedEvent } from '../../../db/queries/read-events-after.ts'
import { formatCursor } from '../../ledger/event-cursor.ts'
import { moment } from '../route.ts'
import { anything, subjectSchema, timestamp } from './schemas.ts'

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

export const viewEvent = (event: FeedEvent): EventView => ({
  id: formatCursor(event.cursor),
  at: moment(event.at),
  type: event.type,
  subject: { ...event.subject },
  job_id: event.job,
  actor: event.actor,
  from: event.from,
  to: event.to,
  reason: event.reason,
  detail: event.detail === null ? null : { ...event.detail },
})

export const viewJobEvent = (line: JobEventLine): EventView => ({
  id: formatCursor(line),
  at: moment(line.at),
  type: line.type,
  subject: { type: line.subjectType, id: line.subjectId },
  job_id: line.jobId,
  actor: line.actor,
  from: line.fromState,
  to: line.toState,
  reason: line.reason,
  detail: line.detail,
})
