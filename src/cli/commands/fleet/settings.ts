import type { Json } from '../../kit/client.ts'
import { type Command, UsageError } from '../../kit/command.ts'
import { type Column, field } from '../../kit/output.ts'
import { listCommand, pathOf } from '../../kit/rows.ts'

interface Noun {
  readonly noun: 'settings' | 'limits'
  readonly title: string
  /** The field of the body that a change sends. */
  readonly value: 'value' | 'capacity'
  readonly columns: readonly Column[]
}

/** Settings and limits are read and changed the same way: by name, with the version that was read. */
const commandsFor = ({ noun, title, value, columns }: Noun): Command[] => {
  const name = { name: 'name', summary: `the name of a ${title}` }
  const print = (thing: Json): (readonly [string, unknown])[] => Object.entries(thing)
  return [
    listCommand({
      name: `${noun} list`,
      summary: `List ${noun}`,
      covers: `GET /v1/${noun}`,
      path: `/v1/${noun}`,
      paged: false,
      empty: `There are no ${noun}.`,
      columns,
    }),
    {
      name: `${noun} get`,
      summary: `Show a ${title}`,
      covers: [`GET /v1/${noun}/{name}`],
      args: [name],
      run: async ({ client, output, args }) => {
        const thing = await client.get(pathOf(noun, args[0]))
        output.show(thing, () => output.fields(print(thing)))
        return 0
      },
    },
    {
      name: `${noun} set`,
      summary: `Change a ${title}; the fleet follows within seconds`,
      covers: [`PUT /v1/${noun}/{name}`],
      args: [name, { name: 'value', summary: 'a number' }],
      run: async ({ client, output, args }) => {
        const wanted = Number(args[1])
        if (!Number.isFinite(wanted)) throw new UsageError(`The value must be a number, not "${args[1]}".`)
        const path = pathOf(noun, args[0])
        const { headers } = await client.ask('GET', path)
        const { body } = await client.ask('PUT', path, {
          body: { [value]: wanted },
          headers: { 'if-match': headers.get('etag') ?? '*' },
        })
        output.show(body, () => output.line(`${body.name} is ${body[value]} now.`))
        return 0
      },
    },
  ]
}

const resetLimit: Command = {
  name: 'limits reset',
  summary: 'Go back to the limit of the class, or to the default',
  covers: ['DELETE /v1/limits/{name}'],
  args: [{ name: 'name', summary: 'the name of a limit' }],
  run: async ({ client, output, args }) => {
    await client.ask('DELETE', pathOf('limits', args[0]), { headers: { 'if-match': '*' } })
    output.show({ name: args[0], set: false }, () => output.line(`${args[0]} is no longer set.`))
    return 0
  },
}

export const settingCommands: readonly Command[] = [
  ...commandsFor({
    noun: 'settings',
    title: 'setting',
    value: 'value',
    columns: [
      field('name'),
      field('value', 'value', { right: true }),
      field('default', 'default', { right: true }),
      field('unit'),
      field('title'),
    ],
  }),
  ...commandsFor({
    noun: 'limits',
    title: 'limit',
    value: 'capacity',
    columns: [
      field('name'),
      field('capacity', 'capacity', { right: true }),
      field('holds', 'held', { right: true }),
      field('waiters', 'waiting', { right: true }),
      field('origin'),
      field('title'),
    ],
  }),
  resetLimit,
]
