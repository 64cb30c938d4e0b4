import type { Json } from '../../kit/client.ts'
import { type Command, flag, given, type Options, text, textOf } from '../../kit/command.ts'
import { field, fields, numbers, since } from '../../kit/output.ts'
import { list, pour, verb } from '../../kit/rows.ts'
import { filterOption, instanceColumns, noteErrors, readinessOption } from './instances.ts'

const source = text('name', 'only of this source')

const ruleColumns = [
  ...fields('id', 'severity'),
  numbers('broken'),
  numbers('waived'),
  ...fields('title', 'remedy'),
]

const waiving: Options = {
  instance: text('id', 'only for this instance; without it the whole fleet', { field: 'instance_id' }),
  reason: text('text', 'why the risk is taken; it is recorded (required)', {
    required: 'say why the risk is taken',
  }),
  until: text('time', 'such as 2027-01-31T00:00:00Z; without it for good'),
}

const assessment: Command = {
  name: 'assessment',
  summary: 'How ready the fleet is, by source and by rule; --csv for a spreadsheet',
  covers: ['GET /v1/assessment'],
  options: {
    source,
    filter: filterOption,
    csv: flag('a line for each instance and rule, as CSV'),
  },
  run: async (call) => {
    const { client, output, values } = call
    const query = { source: textOf(values, 'source'), filter: textOf(values, 'filter') }
    if (values.csv === true) {
      await pour(call, { path: '/v1/assessment', as: 'csv', query: { ...query, format: 'csv' } })
      return
    }
    const parts = [await client.get('/v1/assessment', query)]
    for (let last = parts[0]; typeof last?.next_cursor === 'string'; last = parts.at(-1))
      parts.push(await client.get('/v1/assessment', { ...query, cursor: last.next_cursor }))
    const whole = addUp(parts)
    output.show(whole, () => {
      const counts = ['instances', 'ready', 'warning', 'blocked', 'migrated']
      output.table(
        [field('source'), ...counts.map((name) => numbers(name))],
        [...(whole.sources as Json[]), { source: 'all', ...(whole.totals as Json) }],
        'There is no source.',
      )
      output.line()
      const broken = (whole.rules as Json[]).filter((rule) => Number(rule.broken) + Number(rule.waived) > 0)
      output.table(ruleColumns, broken, 'No rule is broken.')
    })
    noteErrors(call, whole)
  },
}

/** A fleet that is too large for one answer comes in parts; their numbers add up. */
const addUp = (parts: readonly Json[]): Json => {
  const [first] = parts
  if (!first || parts.length === 1) return first ?? {}
  const sumOf = (rows: readonly Json[]): Json =>
    rows.reduce<Record<string, unknown>>((sum, row) => {
      for (const [name, value] of Object.entries(row))
        sum[name] = typeof value === 'number' ? Number(sum[name] ?? 0) + value : value
      return sum
    }, {})
  const merged = (list: 'sources' | 'rules', key: string): Json[] => {
    const rows = parts.flatMap((part) => part[list] as Json[])
    const keys = [...new Set(rows.map((row) => row[key]))]
    return keys.map((value) => sumOf(rows.filter((row) => row[key] === value)))
  }
  return {
    ...first,
    totals: sumOf(parts.map((part) => part.totals as Json)),
    sources: merged('sources', 'source'),
    rules: merged('rules', 'id'),
    scanned: parts.reduce((sum, part) => sum + Number(part.scanned), 0),
    error_count: parts.reduce((sum, part) => sum + Number(part.error_count), 0),
    errors: parts.flatMap((part) => part.errors as Json[]).slice(0, 20),
    next_cursor: null,
  }
}

export const ruleCommands: readonly Command[] = [
  list({
    name: 'rules',
    summary: 'What decides whether an instance can be migrated, and how many break it',
    asks: 'GET /v1/rules',
    filters: { source },
    paged: false,
    columns: ruleColumns,
    empty: 'There are no rules.',
  }),
  list({
    name: 'waivers list',
    summary: 'Who took the responsibility for which broken rule',
    asks: 'GET /v1/waivers',
    empty: 'Nothing is waived.',
    filters: { rule: text('id', 'only of this rule'), 'instance-id': text('id', 'only for this instance') },
    columns: [
      ...fields('id', 'rule'),
      { title: 'for', value: (row) => (row.instance_id === null ? 'the fleet' : row.instance) },
      field('created_by', 'by'),
      since('created_at', 'since'),
      { title: 'until', value: (row) => (row.over ? 'over' : row.until) },
      field('reason'),
    ],
  }),
  verb({
    name: 'waivers add',
    summary: 'Waive a rule for one instance, or for the whole fleet: you take the responsibility',
    asks: 'POST /v1/waivers',
    args: [{ name: 'rule', summary: 'the id of a rule: drover rules' }],
    options: waiving,
    body: ({ args, values }) => ({ rule: args[0], ...given(values, waiving) }),
    said: ({ rule, instance, id }) =>
      `${rule} is waived ${instance ? `for ${instance}` : 'for the whole fleet'}: ${id}`,
  }),
  verb({
    name: 'waivers remove',
    summary: 'Take a waiver back: the rule counts again',
    asks: 'DELETE /v1/waivers/{id}',
    args: [{ name: 'id', summary: 'the id of a waiver' }],
    answer: ({ args }) => ({ id: args[0], deleted: true }),
    said: () => 'The rule counts again.',
  }),
  assessment,
  list({
    name: 'assessment instances',
    summary: 'The instances behind the numbers, with what they break',
    asks: 'GET /v1/assessment/instances',
    empty: 'There are no instances.',
    filters: {
      rule: text('id', 'that break this rule, waived or not'),
      readiness: readinessOption,
      source,
      filter: filterOption,
    },
    columns: instanceColumns,
    note: noteErrors,
  }),
]
