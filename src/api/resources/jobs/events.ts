import { z } from '@hono/zod-openapi'
import { type EventFilter, readEventsAfter } from '../../../../db/queries/events/read-events-after.ts'
import { formatCursor, requireCursor } from '../../../ledger/events/event-cursor.ts'
import type { ApiDeps } from '../../http/env.ts'
import { defineRoute, json, newResource } from '../../http/route.ts'
import { parseSubject, subjectQuery } from '../../wire/schemas.ts'
import { streamEvents } from './event-stream.ts'
import { eventSchema, viewEvent } from './event-view.ts'

const tag = 'Events'

const typesQuery = z
  .string()
  .max(1_000)
  .regex(/^[a-z][a-z.-]*\*?(,[a-z][a-z.-]*\*?)*$/, 'must be event types, separated by commas')
  .transform((text) => text.split(','))
  .optional()
  .openapi({
    type: 'string',
    description: 'Comma-separated; a trailing `*` matches the rest.',
    example: 'job.*',
  })

const filterQuery = z.object({ types: typesQuery, subject: subjectQuery })

const cursorQuery = z.string().max(60).optional().openapi({
  description: 'The id of the last event you have; `start` or nothing for the first, `now` for the end.',
})

const list = defineRoute({
  method: 'get',
  path: '/events',
  role: 'viewer',
  tag,
  summary: 'Events after a cursor, in order',
  description:
    'Reads only what can no longer change: an event whose transaction, or an older one, still runs comes later. ' +
    'A page may be empty while `end` is false: the filter left everything out; go on with `next`.',
  request: {
    query: filterQuery.extend({
      after: cursorQuery,
      limit: z.coerce.number().int().min(1).max(200).default(50),
    }),
  },
  responses: {
    200: json(
      z
        .object({
          items: z.array(eventSchema),
          next: z.string().openapi({ description: 'Give it as `after` for what follows.' }),
          end: z.boolean().openapi({ description: 'Nothing more can be read now.' }),
        })
        .openapi('EventFeedPage'),
      'A page of events',
    ),
  },
})

const stream = defineRoute({
  method: 'get',
  path: '/events/stream',
  role: 'viewer',
  tag,
  summary: 'Follow events as they happen',
  description:
    'Server-sent events. Each has the id, the type and, as data, the JSON of an Event. `Last-Event-ID` (which ' +
    'browsers send by themselves) or `after` resumes without a gap; with neither it begins now. A reader that ' +
    'is too slow is dropped and resumes by its last id.',
  request: {
    query: filterQuery.extend({ after: cursorQuery }),
    headers: z.object({ 'last-event-id': z.string().max(60).optional() }),
  },
  responses: {
    200: { description: 'A stream', content: { 'text/event-stream': { schema: z.string() } } },
  },
})

const placeOf = (text: string | undefined) =>
  text === undefined || text === 'start' || text === 'now' ? text : requireCursor(text, 'after')

const filterOf = (query: { types?: string[] | undefined; subject?: string | undefined }): EventFilter => ({
  types: query.types,
  subject: parseSubject(query.subject),
})

export const events = (deps: ApiDeps) =>
  newResource()
    .openapi(list, async (c) => {
      const query = c.req.valid('query')
      const page = await readEventsAfter(deps.db, placeOf(query.after) ?? 'start', {
        ...filterOf(query),
        limit: query.limit,
      })
      return c.json({ items: page.events.map(viewEvent), next: formatCursor(page.next), end: page.end }, 200)
    })
    .openapi(stream, (c) => {
      const query = c.req.valid('query')
      // A browser that reconnects sends the id of the last event it has, which is newer than the page's `after`.
      const last = c.req.valid('header')['last-event-id'] || undefined
      return streamEvents(c, deps, { ...filterOf(query), after: placeOf(last ?? query.after) ?? 'now' })
    })
