import { type Command, UsageError } from '../../kit/command.ts'
import { type Column, field, fields, numbers } from '../../kit/output.ts'
import { list, show, verb } from '../../kit/rows.ts'

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
  return [
    list({
      name: `${noun} list`,
      summary: `List ${noun}`,
      asks: `GET /v1/${noun}`,
      paged: false,
      empty: `There are no ${noun}.`,
      columns,
    }),
    show({ name: `${noun} get`, summary: `Show a ${title}`, asks: `GET /v1/${noun}/{name}`, args: [name] }),
    verb({
      name: `${noun} set`,
      summary: `Change a ${title}; the fleet follows within seconds`,
      asks: `PUT /v1/${noun}/{name}`,
      args: [name, { name: 'value', summary: 'a number' }],
      body: ({ args }) => {
        const wanted = Number(args[1])
        if (!Number.isFinite(wanted)) throw new UsageError(`The value must be a number, not "${args[1]}".`)
        return { [value]: wanted }
      },
      said: (thing) => `${thing.name} is ${thing[value]} now.`,
    }),
  ]
}

export const settingCommands: readonly Command[] = [
  ...commandsFor({
    noun: 'settings',
    title: 'setting',
    value: 'value',
    columns: [field('name'), numbers('value'), numbers('default'), field('unit'), field('title')],
  }),
  ...commandsFor({
    noun: 'limits',
    title: 'limit',
    value: 'capacity',
    columns: [
      field('name'),
      numbers('capacity'),
      numbers('holds', 'held'),
      numbers('waiters', 'waiting'),
      ...fields('origin', 'title'),
    ],
  }),
  verb({
    name: 'limits reset',
    summary: 'Go back to the limit of the class, or to the default',
    asks: 'DELETE /v1/limits/{name}',
    args: [{ name: 'name', summary: 'the name of a limit' }],
    answer: ({ args }) => ({ name: args[0], set: false }),
    said: (_, { args }) => `${args[0]} is no longer set.`,
  }),
]
