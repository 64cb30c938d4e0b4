import { type Command, listOf, textOf, UsageError } from '../../kit/command.ts'
import { field, since } from '../../kit/output.ts'
import { listCommand, pathOf } from '../../kit/rows.ts'

const id = { name: 'id', summary: 'the id of a webhook' }
const types = {
  type: 'string',
  value: 'type',
  multiple: true,
  summary: 'an event type, such as job.failed or effect.*; may be repeated; none means all',
} as const

const verb = (name: 'pause' | 'resume', summary: string, said: string): Command => ({
  name: `webhooks ${name}`,
  summary,
  covers: [`POST /v1/webhooks/{id}/:${name}`],
  args: [id],
  run: async ({ client, output, args }) => {
    const webhook = await client.post(pathOf('webhooks', args[0], `:${name}`))
    output.show(webhook, () => output.line(`The webhook ${webhook.name} ${said}.`))
    return 0
  },
})

const add: Command = {
  name: 'webhooks add',
  summary: 'Create a webhook; its secret is shown this once',
  covers: ['POST /v1/webhooks'],
  args: [
    { name: 'name', summary: 'what to call it' },
    { name: 'url', summary: 'where events are sent' },
  ],
  options: { type: types },
  run: async ({ client, output, args, values }) => {
    const [name, url] = args
    const webhook = await client.post('/v1/webhooks', { name, url, types: listOf(values, 'type') })
    output.show(webhook, () =>
      output.fields([
        ['id', webhook.id],
        ['name', webhook.name],
        ['secret', webhook.secret],
      ]),
    )
    output.note('The secret signs what is sent. It is shown this once: keep it.')
    return 0
  },
}

const set: Command = {
  name: 'webhooks set',
  summary: 'Change a webhook',
  covers: ['PATCH /v1/webhooks/{id}'],
  args: [id],
  options: {
    name: { type: 'string', value: 'name', summary: 'a new name' },
    url: { type: 'string', value: 'url', summary: 'a new address' },
    type: types,
  },
  run: async ({ client, output, args, values }) => {
    const chosen = listOf(values, 'type')
    const body = {
      name: textOf(values, 'name'),
      url: textOf(values, 'url'),
      types: chosen.length > 0 ? chosen : undefined,
    }
    if (Object.values(body).every((value) => value === undefined))
      throw new UsageError('Say what to change: --name, --url or --type.')
    const path = pathOf('webhooks', args[0])
    const { headers } = await client.ask('GET', path)
    const { body: webhook } = await client.ask('PATCH', path, {
      body,
      headers: { 'if-match': headers.get('etag') ?? '*' },
    })
    output.show(webhook, () => output.line(`The webhook ${webhook.name} is changed.`))
    return 0
  },
}

const remove: Command = {
  name: 'webhooks remove',
  summary: 'Delete a webhook',
  covers: ['DELETE /v1/webhooks/{id}'],
  args: [id],
  run: async ({ client, output, args }) => {
    await client.ask('DELETE', pathOf('webhooks', args[0]), { headers: { 'if-match': '*' } })
    output.show({ id: args[0], deleted: true }, () => output.line('It is deleted.'))
    return 0
  },
}

const replay: Command = {
  name: 'webhooks replay',
  summary: 'Send events again from a cursor',
  covers: ['POST /v1/webhooks/{id}/:replay'],
  args: [id],
  options: { from: { type: 'string', value: 'id', summary: 'an event id, start or now (required)' } },
  run: async ({ client, output, args, values }) => {
    const from = textOf(values, 'from')
    if (from === undefined) throw new UsageError('--from is required: an event id, start or now.')
    const webhook = await client.post(pathOf('webhooks', args[0], ':replay'), { from })
    output.show(webhook, () => output.line(`The webhook ${webhook.name} sends again from ${from}.`))
    return 0
  },
}

const show: Command = {
  name: 'webhooks show',
  summary: 'Show a webhook and how its delivery goes',
  covers: ['GET /v1/webhooks/{id}'],
  args: [id],
  run: async ({ client, output, args }) => {
    const webhook = await client.get(pathOf('webhooks', args[0]))
    output.show(webhook, () => output.fields(Object.entries(webhook)))
    return 0
  },
}

export const webhookCommands: readonly Command[] = [
  listCommand({
    name: 'webhooks list',
    summary: 'List webhooks and how their delivery goes',
    covers: 'GET /v1/webhooks',
    path: '/v1/webhooks',
    empty: 'There is no webhook.',
    columns: [
      field('id'),
      field('name'),
      field('state'),
      field('origin'),
      field('delivery.failures', 'failures', { right: true }),
      since('delivery.last_delivered_at', 'delivered'),
      field('delivery.last_error', 'last error'),
    ],
  }),
  show,
  add,
  set,
  remove,
  replay,
  verb('pause', 'Stop sending; events wait', 'is paused; events wait'),
  verb('resume', 'Go on sending from where it stopped', 'goes on'),
]
