import type { Json } from '../../kit/client.ts'
import { type Command, choice, text } from '../../kit/command.ts'
import { field, fields, numbers, since } from '../../kit/output.ts'
import { list, show, verb } from '../../kit/rows.ts'

const args = [{ name: 'id', summary: 'the id of a warning' }]

const mark = (name: 'acknowledge' | 'reopen', summary: string, said: string): Command =>
  verb({
    name: `warnings ${name}`,
    summary,
    asks: `POST /v1/warnings/{id}/:${name}`,
    args,
    said: ({ entity }) => `The warning about ${(entity as Json).name} ${said}.`,
  })

export const warningCommands: readonly Command[] = [
  list({
    name: 'warnings list',
    summary: 'What somebody should know, until it is mended',
    asks: 'GET /v1/warnings',
    empty: 'There is no warning.',
    filters: {
      status: choice('status', ['new', 'acknowledged'], 'only with this status'),
      type: text('type', 'only of this type'),
      entity: text('type/name', 'only about this, such as source/paris'),
    },
    columns: [
      ...fields('id', 'status', 'type'),
      { title: 'about', value: ({ entity }) => `${(entity as Json).type} ${(entity as Json).name}` },
      numbers('count'),
      since('last_seen_at', 'last seen'),
      field('messages.0.text', 'message'),
    ],
  }),
  show({
    name: 'warnings show',
    summary: 'Show a warning with all it says',
    asks: 'GET /v1/warnings/{id}',
    args,
    print: (output, { messages, ...plain }) => {
      output.fields(Object.entries(plain))
      for (const message of (messages ?? []) as Json[]) output.line(`- ${String(message.text)}`)
    },
  }),
  mark('acknowledge', 'Say that you have read a warning', 'is acknowledged'),
  mark('reopen', 'Have a warning read again', 'is new again'),
]
