import { eventWords } from '../../../domain/event-words.ts'
import type { Json } from '../../kit/client.ts'
import { type Call, type Command, exitCodes, numberOf, textOf } from '../../kit/command.ts'
import { followEvents } from '../../kit/event-source.ts'
import { type Column, cellText, field } from '../../kit/output.ts'
import { itemsOf } from '../../kit/rows.ts'
import { sealCommands } from './event-seals.ts'

export const eventColumns: readonly Column[] = [
  field('id'),
  field('at'),
  field('type'),
  { title: 'about', value: aboutOf },
  field('actor', 'by'),
  { title: 'change', value: (event) => [event.from, event.to].filter(Boolean).join(' -> ') },
  { title: 'reason', value: (event) => eventWords({ type: String(event.type), ...event }) },
]

function aboutOf(event: Json): unknown {
  const subject = event.subject as Json | undefined
  return event.job_id ?? `${subject?.type}/${subject?.id}`
}

const events: Command = {
  name: 'events',
  summary: 'Events in order; --follow shows them as they happen',
  covers: ['GET /v1/events', 'GET /v1/events/stream'],
  options: {
    follow: {
      type: 'boolean',
      short: 'f',
      summary: 'go on until Ctrl-C, from now unless --after says otherwise',
    },
    types: {
      type: 'string',
      value: 'list',
      summary: 'comma-separated; a trailing * matches the rest: job.*',
    },
    subject: { type: 'string', value: 'type/id', summary: 'only about this' },
    after: { type: 'string', value: 'id', summary: 'behind this event; start or now' },
    limit: { type: 'string', value: 'n', summary: 'how many, at most 200 (50)' },
  },
  run: async (call) => {
    const { client, output, values } = call
    const query = {
      types: textOf(values, 'types'),
      subject: textOf(values, 'subject'),
      after: textOf(values, 'after'),
    }
    if (values.follow) return await follow(call, query)
    const page = await client.get('/v1/events', { ...query, limit: numberOf(values, 'limit') })
    output.show(page, () => output.table(eventColumns, itemsOf(page), 'No event fits.'))
    if (page.end === false) output.note(`There is more: --after ${page.next}`)
    return exitCodes.ok
  },
}

const follow = async (
  { client, output, io }: Call,
  query: Record<string, string | undefined>,
): Promise<number> => {
  for await (const event of followEvents(client, query, io.signal))
    output.item(event, (shown) =>
      eventColumns
        .slice(1)
        .map((column) => cellText(column.value(shown)))
        .join('  '),
    )
  return exitCodes.ok
}

export const eventCommands: readonly Command[] = [events, ...sealCommands]
