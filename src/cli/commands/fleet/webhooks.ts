import { type Command, given, listOf, type Options, repeated, text, UsageError } from '../../kit/command.ts'
import { field, fields, numbers, since } from '../../kit/output.ts'
import { list, show, verb } from '../../kit/rows.ts'

const args = [{ name: 'id', summary: 'the id of a webhook' }]
const types = repeated(
  'type',
  'an event type, such as job.failed or effect.*; may be repeated; none means all',
  'types',
)
const change: Options = { name: text('name', 'a new name'), url: text('url', 'a new address'), type: types }

const add: Command = {
  name: 'webhooks add',
  summary: 'Create a webhook; its secret is shown this once',
  covers: ['POST /v1/webhooks'],
  args: [
    { name: 'name', summary: 'what to call it' },
    { name: 'url', summary: 'where events are sent' },
  ],
  options: { type: types },
  run: async ({ client, output, args: [name, url], values }) => {
    const webhook = await client.post('/v1/webhooks', { name, url, types: listOf(values, 'type') })
    output.show(webhook, () => output.fields(['id', 'name', 'secret'].map((part) => [part, webhook[part]])))
    output.note('The secret signs what is sent. It is shown this once: keep it.')
  },
}

const delivery = (name: 'pause' | 'resume', summary: string, said: string): Command =>
  verb({
    name: `webhooks ${name}`,
    summary,
    asks: `POST /v1/webhooks/{id}/:${name}`,
    args,
    said: (webhook) => `The webhook ${webhook.name} ${said}.`,
  })

export const webhookCommands: readonly Command[] = [
  list({
    name: 'webhooks list',
    summary: 'List webhooks and how their delivery goes',
    asks: 'GET /v1/webhooks',
    empty: 'There is no webhook.',
    columns: [
      ...fields('id', 'name', 'state', 'origin'),
      numbers('delivery.failures', 'failures'),
      since('delivery.last_delivered_at', 'delivered'),
      field('delivery.last_error', 'last error'),
    ],
  }),
  show({
    name: 'webhooks show',
    summary: 'Show a webhook and how its delivery goes',
    asks: 'GET /v1/webhooks/{id}',
    args,
  }),
  add,
  verb({
    name: 'webhooks set',
    summary: 'Change a webhook',
    asks: 'PATCH /v1/webhooks/{id}',
    args,
    options: change,
    body: ({ values }) => {
      if (Object.keys(change).every((option) => values[option] === undefined))
        throw new UsageError('Say what to change: --name, --url or --type.')
      const { types: chosen, ...more } = given(values, change)
      return values.type === undefined ? more : { ...more, types: chosen }
    },
    said: (webhook) => `The webhook ${webhook.name} is changed.`,
  }),
  verb({
    name: 'webhooks remove',
    summary: 'Delete a webhook',
    asks: 'DELETE /v1/webhooks/{id}',
    args,
    answer: ({ args: [id] }) => ({ id, deleted: true }),
    said: () => 'It is deleted.',
  }),
  verb({
    name: 'webhooks replay',
    summary: 'Send events again from a cursor',
    asks: 'POST /v1/webhooks/{id}/:replay',
    args,
    options: {
      from: text('id', 'an event id, start or now (required)', { required: 'an event id, start or now' }),
    },
    body: ({ values: { from } }) => ({ from }),
    said: (webhook, { values }) => `The webhook ${webhook.name} sends again from ${values.from}.`,
  }),
  delivery('pause', 'Stop sending; events wait', 'is paused; events wait'),
  delivery('resume', 'Go on sending from where it stopped', 'goes on'),
]
