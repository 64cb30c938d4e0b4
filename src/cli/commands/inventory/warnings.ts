import type { Json } from '../../kit/client.ts'
import type { Command } from '../../kit/command.ts'
import { field, since } from '../../kit/output.ts'
import { listCommand, pathOf } from '../../kit/rows.ts'

const id = { name: 'id', summary: 'the id of a warning' }

const verb = (name: 'acknowledge' | 'reopen', summary: string, said: string): Command => ({
  name: `warnings ${name}`,
  summary,
  covers: [`POST /v1/warnings/{id}/:${name}`],
  args: [id],
  run: async ({ client, output, args }) => {
    const warning = await client.post(pathOf('warnings', args[0], `:${name}`))
    output.show(warning, () => output.line(`The warning about ${(warning.entity as Json).name} ${said}.`))
    return 0
  },
})

export const warningCommands: readonly Command[] = [
  listCommand({
    name: 'warnings list',
    summary: 'What somebody should know, until it is mended',
    covers: 'GET /v1/warnings',
    path: '/v1/warnings',
    empty: 'There is no warning.',
    filters: {
      status: {
        type: 'string',
        value: 'status',
        choices: ['new', 'acknowledged'],
        summary: 'only with this status',
      },
      type: { type: 'string', value: 'type', summary: 'only of this type' },
      entity: { type: 'string', value: 'type/name', summary: 'only about this, such as source/paris' },
    },
    columns: [
      field('id'),
      field('status'),
      field('type'),
      { title: 'about', value: ({ entity }) => `${(entity as Json).type} ${(entity as Json).name}` },
      field('count', 'count', { right: true }),
      since('last_seen_at', 'last seen'),
      { title: 'message', value: (row) => ((row.messages as Json[] | undefined) ?? [])[0]?.text },
    ],
  }),
  {
    name: 'warnings show',
    summary: 'Show a warning with all it says',
    covers: ['GET /v1/warnings/{id}'],
    args: [id],
    run: async ({ client, output, args }) => {
      const warning = await client.get(pathOf('warnings', args[0]))
      output.show(warning, () => {
        const { messages, ...plain } = warning
        output.fields(Object.entries(plain))
        for (const message of (messages ?? []) as Json[]) output.line(`- ${String(message.text)}`)
      })
      return 0
    },
  },
  verb('acknowledge', 'Say that you have read a warning', 'is acknowledged'),
  verb('reopen', 'Have a warning read again', 'is new again'),
]
