import type { Json } from '../../kit/client.ts'
import { type Command, exitCodes, textOf, UsageError } from '../../kit/command.ts'
import { download } from '../../kit/download.ts'
import { field, since } from '../../kit/output.ts'
import { itemsOf, listCommand, pathOf } from '../../kit/rows.ts'
import { filterOption, instanceColumns, noteErrors } from './instances.ts'

const source = { type: 'string', value: 'name', summary: 'only of this source' } as const

const ruleColumns = [
  field('id'),
  field('severity'),
  field('broken', 'broken', { right: true }),
  field('waived', 'waived', { right: true }),
  field('title'),
  field('remedy'),
]

const waive: Command = {
  name: 'waivers add',
  summary: 'Waive a rule for one instance, or for the whole fleet: you take the responsibility',
  covers: ['POST /v1/waivers'],
  args: [{ name: 'rule', summary: 'the id of a rule: drover rules' }],
  options: {
    instance: { type: 'string', value: 'id', summary: 'only for this instance; without it the whole fleet' },
    reason: { type: 'string', value: 'text', summary: 'why the risk is taken; it is recorded (required)' },
    until: { type: 'string', value: 'time', summary: 'such as 2027-01-31T00:00:00Z; without it for good' },
  },
  run: async ({ client, output, args, values }) => {
    const reason = textOf(values, 'reason')
    if (reason === undefined) throw new UsageError('--reason is required: say why the risk is taken.')
    const waiver = await client.post('/v1/waivers', {
      rule: args[0],
      instance_id: textOf(values, 'instance') ?? null,
      reason,
      until: textOf(values, 'until') ?? null,
    })
    const where = waiver.instance ? `for ${waiver.instance}` : 'for the whole fleet'
    output.show(waiver, () => output.line(`${waiver.rule} is waived ${where}: ${waiver.id}`))
    return exitCodes.ok
  },
}

const assessment: Command = {
  name: 'assessment',
  summary: 'How ready the fleet is, by source and by rule; --csv for a spreadsheet',
  covers: ['GET /v1/assessment'],
  options: {
    source,
    filter: filterOption,
    csv: { type: 'boolean', summary: 'a line for each instance and rule, as CSV' },
  },
  run: async (call) => {
    const { client, output, values } = call
    const query = { source: textOf(values, 'source'), filter: textOf(values, 'filter') }
    if (values.csv === true) {
      await download(call, { path: '/v1/assessment', as: 'csv', query: { ...query, format: 'csv' } })
      return exitCodes.ok
    }
    const parts = [await client.get('/v1/assessment', query)]
    for (let last = parts[0]; typeof last?.next_cursor === 'string'; last = parts.at(-1))
      parts.push(await client.get('/v1/assessment', { ...query, cursor: last.next_cursor }))
    const whole = addUp(parts)
    output.show(whole, () => {
      const counts = ['instances', 'ready', 'warning', 'blocked', 'migrated']
      output.table(
        [field('source'), ...counts.map((name) => field(name, name, { right: true }))],
        [...(whole.sources as Json[]), { source: 'all', ...(whole.totals as Json) }],
        'There is no source.',
      )
      output.line()
      const broken = (whole.rules as Json[]).filter((rule) => Number(rule.broken) + Number(rule.waived) > 0)
      output.table(ruleColumns, broken, 'No rule is broken.')
    })
    noteErrors(call, whole)
    return exitCodes.ok
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

const rules: Command = {
  name: 'rules',
  summary: 'What decides whether an instance can be migrated, and how many break it',
  covers: ['GET /v1/rules'],
  options: { source },
  run: async ({ client, output, values }) => {
    const answer = await client.get('/v1/rules', { source: textOf(values, 'source') })
    output.show(answer, () => output.table(ruleColumns, itemsOf(answer), 'There are no rules.'))
    return exitCodes.ok
  },
}

export const ruleCommands: readonly Command[] = [
  rules,
  listCommand({
    name: 'waivers list',
    summary: 'Who took the responsibility for which broken rule',
    covers: 'GET /v1/waivers',
    path: '/v1/waivers',
    empty: 'Nothing is waived.',
    filters: {
      rule: { type: 'string', value: 'id', summary: 'only of this rule' },
      'instance-id': { type: 'string', value: 'id', summary: 'only for this instance' },
    },
    columns: [
      field('id'),
      field('rule'),
      { title: 'for', value: (row) => (row.instance_id === null ? 'the fleet' : row.instance) },
      field('created_by', 'by'),
      since('created_at', 'since'),
      { title: 'until', value: (row) => (row.over ? 'over' : row.until) },
      field('reason'),
    ],
  }),
  waive,
  {
    name: 'waivers remove',
    summary: 'Take a waiver back: the rule counts again',
    covers: ['DELETE /v1/waivers/{id}'],
    args: [{ name: 'id', summary: 'the id of a waiver' }],
    run: async ({ client, output, args }) => {
      await client.ask('DELETE', pathOf('waivers', args[0]))
      output.show({ id: args[0], deleted: true }, () => output.line('The rule counts again.'))
      return exitCodes.ok
    },
  },
  assessment,
  listCommand({
    name: 'assessment instances',
    summary: 'The instances behind the numbers, with what they break',
    covers: 'GET /v1/assessment/instances',
    path: '/v1/assessment/instances',
    empty: 'No instance fits.',
    filters: {
      rule: { type: 'string', value: 'id', summary: 'that break this rule, waived or not' },
      readiness: {
        type: 'string',
        value: 'word',
        choices: ['ready', 'warning', 'blocked'],
        summary: 'only so ready',
      },
      source,
      filter: filterOption,
    },
    columns: instanceColumns,
    note: noteErrors,
  }),
]
