import { entryStates } from '../../../domain/migration/entry/entry.ts'
import { many } from '../../../domain/text/sentence.ts'
import type { Json } from '../../kit/client.ts'
import {
  type Call,
  type Command,
  choice,
  exitCodes,
  flag,
  given,
  number,
  numberOf,
  type Options,
  text,
  textOf,
  UsageError,
} from '../../kit/command.ts'
import { confirmCount, confirmIfPerson, confirmOptions } from '../../kit/confirm.ts'
import { field, fields, since } from '../../kit/output.ts'
import { anyVersion, codeOf, itemsOf, list, pathOf, show } from '../../kit/rows.ts'
import { percentOf, printEntry } from './print-entry.ts'

const idArg = { name: 'id', summary: 'the id of an entry' }

const which: Options = {
  batch: text('name', 'only of this batch'),
  state: choice('state', entryStates, 'only in this state'),
  source: text('name', 'only from this source'),
  target: text('name', 'only to this target'),
  filter: text('cel', 'only those that fit: docs/filters.md'),
}

const verbs = ['cancel', 'retry', 'resolve'] as const
type Verb = (typeof verbs)[number]

const summaries: Readonly<Record<Verb, string>> = {
  cancel: 'Give an entry up, or all that fit with --batch, --state, --filter, …',
  retry: 'Try entries again that were cancelled or ended in error',
  resolve: 'Decide about entries in conflict: they are checked again',
}

const flags: Readonly<Record<Verb, Options>> = {
  cancel: {
    force: flag('also where hours of work are thrown away'),
    cleanup: flag('take the machine on the target away'),
  },
  retry: {},
  resolve: {},
}

/** What the verb would do to the entry, with the flags that were given. */
const whatItDoes = async (call: Call, verb: Verb, id: string): Promise<string> => {
  const entry = await call.client.get(pathOf('queue', id))
  const choices = (entry.choices ?? []) as readonly Json[]
  const meant = choices.find((one) => one.verb === verb && one.cleanup === (call.values.cleanup === true))
  return meant === undefined ? '' : `${verb} ${entry.name}: ${meant.does}`
}

const doOne = async (call: Call, verb: Verb, id: string): Promise<number> => {
  await confirmIfPerson(call, () => whatItDoes(call, verb, id))
  const answer = await call.client.post(pathOf('queue', id, `:${verb}`), given(call.values, flags[verb]))
  const entry = answer.entry as Json
  call.output.show(answer, () =>
    call.output.line(
      answer.outcome === 'done'
        ? `${entry.name} is ${entry.state} now: ${entry.message}`
        : `${entry.name}: its job lets go first, then it is done.`,
    ),
  )
  return exitCodes.ok
}

/** Whom a person means; the verb is done to all of them, in as many requests as that takes. */
const wantedOf = (call: Call, verb: Verb): Json => {
  const wanted = given(call.values, which)
  const ids = textOf(call.values, 'ids')
    ?.split(',')
    .map((id) => id.trim())
  if ([...Object.values(wanted), ids].every((value) => value === undefined))
    throw new UsageError(`Say which: drover queue ${verb} <id>, or --batch, --state, --filter, --ids, …`)
  return { ...wanted, ids, ...given(call.values, flags[verb]) }
}

const doMany = async (call: Call, verb: Verb): Promise<number> => {
  const { output } = call
  const wanted = wantedOf(call, verb)
  const count = numberOf(call.values, 'confirm')
  if (count === undefined) throw new UsageError('--confirm is required: how many entries you mean.')
  const items: Json[] = []
  let answer: Json
  let next: Json = { confirm_count: count }
  do {
    answer = await askMany(call, { verb, body: { ...wanted, ...next }, done: items.length })
    items.push(...itemsOf(answer))
    next = { confirm_count: answer.left, cursor: answer.next_cursor }
    output.live(`${items.length} of ${count}`)
  } while (typeof answer.next_cursor === 'string')
  output.live('')
  const refused = items.filter(({ outcome }) => outcome === 'refused')
  output.show({ ...answer, matched: count, items }, () => {
    output.line(`${items.length - refused.length} of ${many(count, 'entry', 'entries')}: ${verb}.`)
    for (const { id, message } of refused) output.line(`${id}: ${message}`)
  })
  return codeOf(refused.length === 0)
}

/** A later part that is refused must not hide that the parts before it are done. */
const askMany = async (
  call: Call,
  { verb, body, done }: { verb: Verb; body: Json; done: number },
): Promise<Json> => {
  try {
    return await call.client.post(`/v1/queue/:${verb}`, body)
  } catch (error) {
    if (done > 0) call.output.note(`${verb} was done to ${many(done, 'entry', 'entries')} before this:`)
    throw error
  }
}

const verbCommand = (verb: Verb): Command => ({
  name: `queue ${verb}`,
  summary: summaries[verb],
  covers: [`POST /v1/queue/{id}/:${verb}`, `POST /v1/queue/:${verb}`],
  args: [{ ...idArg, optional: true }],
  options: {
    ...which,
    confirm: number('for many: how many entries you mean'),
    ids: text('id,id', 'exactly these'),
    yes: flag('for a single entry: do it without asking'),
    ...flags[verb],
  },
  run: (call) => (call.args[0] === undefined ? doMany(call, verb) : doOne(call, verb, call.args[0])),
})

export const queueCommands: readonly Command[] = [
  list({
    name: 'queue list',
    summary: 'List entries: the journeys of instances',
    asks: 'GET /v1/queue',
    empty: 'There are no entries.',
    filters: { ...which, 'instance-id': text('id', 'only of this instance') },
    columns: [
      ...fields('id', 'name', 'batch', 'state', 'stage'),
      since('since', 'since'),
      { title: 'progress', value: percentOf },
      field('message'),
    ],
  }),
  show({
    name: 'queue show',
    summary: 'Show an entry: where it is, why, and what you can do',
    asks: 'GET /v1/queue/{id}',
    args: [idArg],
    print: printEntry,
  }),
  ...verbs.map(verbCommand),
  {
    name: 'queue remove',
    summary: 'Take an entry off the list; a machine that was migrated stays',
    covers: ['DELETE /v1/queue/{id}'],
    args: [idArg],
    options: {
      cleanup: flag('destroy its copy on the target first'),
      ...confirmOptions,
    },
    run: async (call) => {
      const { client, output, args, values } = call
      await confirmIfPerson(call, async () =>
        values.cleanup === true ? 'Its copy on the target is destroyed, then the entry goes.' : '',
      )
      const { status } = await confirmCount(call, (confirmed) =>
        client.ask('DELETE', pathOf('queue', args[0]), {
          headers: anyVersion,
          query: { confirm_finished: confirmed, cleanup: values.cleanup === true ? true : undefined },
        }),
      )
      const leaving = status === 202
      output.show({ id: args[0], deleted: !leaving }, () =>
        output.line(
          leaving
            ? 'Its copy is destroyed first; then it goes.'
            : 'It is off the list. A machine that was migrated stays.',
        ),
      )
    },
  },
]
