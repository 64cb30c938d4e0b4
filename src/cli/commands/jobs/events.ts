import { eventWords } from '../../../domain/event-words.ts'
import type { Ask, Json } from '../../kit/client.ts'
import { type Call, type Command, flag, given, number, type Options, text } from '../../kit/command.ts'
import { followEvents } from '../../kit/event-source.ts'
import { type Column, cellText, field, fields } from '../../kit/output.ts'
import { emptyText, itemsOf } from '../../kit/rows.ts'
import { sealCommands } from './event-seals.ts'

export const eventColumns: readonly Column[] = [
  ...fields('id', 'at', 'type'),
  { title: 'about', value: aboutOf },
  field('actor', 'by'),
  { title: 'change', value: (event) => [event.from, event.to].filter(Boolean).join(' -> ') },
  { title: 'reason', value: (event) => eventWords({ type: String(event.type), ...event }) },
]

function aboutOf(event: Json): unknown {
  const subject = event.subject as Json | undefined
  return event.job_id ?? `${subject?.type}/${subject?.id}`
}

const filters: Options = {
  types: text('list', 'comma-separated; a trailing * matches the rest: job.*'),
  subject: text('type/id', 'only about this'),
  after: text('id', 'behind this event; start or now'),
}
const limit = number('how many, at most 200 (50)')

const events: Command = {
  name: 'events',
  summary: 'Events in order; --follow shows them as they happen',
  covers: ['GET /v1/events', 'GET /v1/events/stream'],
  options: {
    follow: flag('go on until Ctrl-C, from now unless --after says otherwise', { short: 'f' }),
    ...filters,
    limit,
  },
  run: async (call) => {
    const { client, output, values } = call
    if (values.follow) return await follow(call, given(values, filters) as Record<string, string>)
    const page = await client.get('/v1/events', given(values, { ...filters, limit }) as Ask['query'])
    const empty = emptyText(given(values, filters), 'There are no events.')
    output.show(page, () => output.table(eventColumns, itemsOf(page), empty))
    if (page.end === false) output.note(`There is more: --after ${page.next}`)
  },
}

const follow = async (
  { client, output, io }: Call,
  query: Record<string, string | undefined>,
): Promise<undefined> => {
  for await (const event of followEvents(client, query, io.signal))
    output.item(event, (shown) =>
      eventColumns
        .slice(1)
        .map((column) => cellText(column.value(shown)))
        .join('  '),
    )
}

export const eventCommands: readonly Command[] = [events, ...sealCommands]
