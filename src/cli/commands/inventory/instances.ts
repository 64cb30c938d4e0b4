import { isPowerAsked, poweredMachine, powerMeaning } from '../../../domain/inventory/power-meaning.ts'
import { powerVerbs } from '../../../domain/job/power-instance.ts'
import { afterAccepted, waitOption } from '../../kit/accepted.ts'
import type { Json } from '../../kit/client.ts'
import {
  type Call,
  type Command,
  exitCodes,
  jsonOf,
  numberOf,
  type Option,
  textOf,
  UsageError,
} from '../../kit/command.ts'
import { confirm, yesOption } from '../../kit/confirm.ts'
import { isFields, mergeSettings } from '../../kit/merge-settings.ts'
import { type Column, field } from '../../kit/output.ts'
import { listCommand, pathOf } from '../../kit/rows.ts'

const id = { name: 'id', summary: 'the id of an instance' }
const presence = ['false', 'true', 'any']

export const filterOption: Option = {
  type: 'string',
  value: 'filter',
  summary: 'CEL, such as \'source == "paris" && cpus > 4\'',
}

const choices: Readonly<Record<string, Option>> = {
  filter: filterOption,
  source: { type: 'string', value: 'name', summary: 'only of this source' },
  readiness: {
    type: 'string',
    value: 'word',
    choices: ['ready', 'warning', 'blocked'],
    summary: 'only so ready',
  },
  ignored: { type: 'string', value: 'which', choices: presence, summary: 'those that are left out (false)' },
  gone: { type: 'string', value: 'which', choices: presence, summary: 'those that are gone (false)' },
  migrated: {
    type: 'string',
    value: 'which',
    choices: presence,
    summary: 'those that were migrated (false)',
  },
}

const gigabytes = (value: unknown): string =>
  typeof value === 'number' ? `${(value / 2 ** 30).toFixed(1)} GiB` : '-'

export const instanceColumns: readonly Column[] = [
  field('id'),
  field('source'),
  field('name'),
  field('power_state', 'power'),
  { title: 'system', value: systemOf },
  field('cpus', 'cpus', { right: true }),
  { title: 'memory', value: (row) => gigabytes(row.memory), right: true },
  { title: 'disks', value: (row) => gigabytes(row.disk_bytes), right: true },
  field('readiness'),
  { title: 'note', value: noteOf },
]

function systemOf(row: Json): string {
  const name = row.distribution === 'other' ? row.os_type : row.distribution
  return `${String(name)} ${String(row.distribution_version)}`.trim()
}

function noteOf(row: Json): unknown {
  if (row.gone_at) return 'gone'
  if (row.migrated) return 'migrated'
  if (row.ignored) return `ignored: ${row.ignored}`
  if (row.frozen_by) return `held by ${row.frozen_by}`
  if (row.problem) return row.problem
  return Array.isArray(row.findings)
    ? row.findings.map((item: unknown) => (typeof item === 'string' ? item : (item as Json).rule)).join(' ')
    : ''
}

/** A filter's trouble with single instances is said, not hidden. */
export const noteErrors = (call: Call, answer: Json): void => {
  if (!(Number(answer.error_count) > 0)) return
  call.output.note(`${answer.error_count} could not be judged by the filter, the first:`)
  for (const { id: which, message } of (answer.errors ?? []) as Json[])
    call.output.note(`  ${which}: ${message}`)
}

const count: Command = {
  name: 'instances count',
  summary: 'How many instances a filter matches',
  covers: ['GET /v1/instances/:count'],
  options: choices,
  run: async (call) => {
    const query = Object.fromEntries(Object.keys(choices).map((name) => [name, textOf(call.values, name)]))
    const total = { matched: 0, scanned: 0, error_count: 0, errors: [] as Json[] }
    for (let cursor: string | undefined; ; ) {
      const part = await call.client.get('/v1/instances/:count', { ...query, cursor })
      total.matched += Number(part.matched)
      total.scanned += Number(part.scanned)
      total.error_count += Number(part.error_count)
      total.errors.push(...((part.errors ?? []) as Json[]).slice(0, 20 - total.errors.length))
      if (typeof part.next_cursor !== 'string') break
      cursor = part.next_cursor
    }
    call.output.show(total, () => call.output.line(`${total.matched} of ${total.scanned} match.`))
    noteErrors(call, total)
    return exitCodes.ok
  },
}

const show: Command = {
  name: 'instances show',
  summary: 'Show an instance: facts, overrides, what the rules find, where its cards land',
  covers: ['GET /v1/instances/{id}'],
  args: [id],
  run: async (call) => {
    const { output } = call
    const row = await call.client.get(pathOf('instances', call.args[0]))
    output.show(row, () => {
      const { facts: _facts, effective: _effective, findings, networks, pending, ...plain } = row
      output.fields(Object.entries(plain))
      output.line()
      output.table(
        [
          field('severity'),
          field('rule'),
          field('waived'),
          { title: 'evidence', value: ({ evidence }) => (evidence as string[]).join(' ') },
          field('remedy'),
        ],
        (findings ?? []) as Json[],
        'No rule is broken.',
      )
      output.line()
      output.table(
        [
          field('nic'),
          field('mac'),
          field('network'),
          field('placement.network', 'lands on'),
          field('placement.nictype', 'as'),
          field('placement.vlan_id', 'vlan'),
        ],
        (networks ?? []) as Json[],
        'It has no network card.',
      )
      if (pending) {
        output.line()
        output.table(
          [field('path'), field('from'), field('to')],
          ((pending as Json).changes ?? []) as Json[],
          'Its source no longer has it; a running batch holds the record.',
        )
      }
    })
    return exitCodes.ok
  },
}

/** Changes of overrides by some of their fields. */
export const setOption = (example: string): Option => ({
  type: 'string',
  value: 'json',
  summary: `fields to change, such as '${example}'; others stay, null takes one away`,
})

const overrides: Command = {
  name: 'instances overrides',
  summary: 'Show what people decided about an instance, change some of it, or take it away',
  covers: [
    'GET /v1/instances/{id}/overrides',
    'PUT /v1/instances/{id}/overrides',
    'DELETE /v1/instances/{id}/overrides',
  ],
  args: [id],
  options: {
    set: setOption('{"cpus": 4, "comment": null}'),
    clear: { type: 'boolean', summary: 'take all of them away' },
  },
  run: async (call) => editOverrides(call, pathOf('instances', call.args[0], 'overrides'), undefined),
}

/** Shows, changes or clears overrides. `read`: where they are read, if not where they are written. */
export const editOverrides = async (call: Call, path: string, read: string | undefined): Promise<number> => {
  const { client, output, values } = call
  const wanted = jsonOf(values, 'set')
  if (wanted !== undefined && values.clear === true) throw new UsageError('Either --set or --clear.')
  if (wanted !== undefined && !isFields(wanted))
    throw new UsageError('--set must be a JSON object of fields.')
  const { headers, body } = await client.ask('GET', read ?? path)
  const match = { 'if-match': headers.get('etag') ?? '*' }
  if (values.clear === true) {
    await client.ask('DELETE', path, { headers: match })
    output.show({ cleared: true }, () => output.line('The overrides are taken away.'))
    return exitCodes.ok
  }
  const merged = wanted && mergeSettings((body.overrides ?? {}) as Json, wanted)
  const shown = merged ? (await client.ask('PUT', path, { body: merged, headers: match })).body : body
  output.show(shown, () => {
    const fields = Object.entries((shown.overrides ?? {}) as Json)
    if (fields.length === 0) output.line('There are no overrides.')
    else output.fields(fields)
  })
  return exitCodes.ok
}

const guestOptions: Readonly<Record<string, Option>> = {
  force: { type: 'boolean', summary: 'pull the plug of a guest that does not go off in time' },
  timeout: { type: 'string', value: 'seconds', summary: 'how long a guest may take to go off (300)' },
  wait: waitOption,
}

const guestFields = (call: Call) => ({
  force: call.values.force === true,
  timeout_seconds: numberOf(call.values, 'timeout'),
})

const readInstance = async ({ client, args }: Call) =>
  poweredMachine((await client.get(pathOf('instances', args[0]))) as never)

const power: Command = {
  name: 'instances power',
  summary: 'Switch an instance on or off at its source; off or restart is asked first, or needs --yes',
  covers: ['POST /v1/instances/{id}/:power'],
  args: [id, { name: 'verb', summary: `one of ${powerVerbs.join(', ')}` }],
  options: { ...guestOptions, yes: yesOption },
  run: async (call) => {
    const [instance, asked = ''] = call.args
    const verb = powerVerbs.find((one) => one === asked)
    if (verb === undefined)
      throw new UsageError(`The verb is one of ${powerVerbs.join(', ')}, not "${asked}".`)
    if (isPowerAsked(verb) && call.values.yes !== true)
      await confirm(call, powerMeaning(await readInstance(call), verb))
    const body = { verb, ...guestFields(call) }
    const job = await call.client.post(pathOf('instances', instance, ':power'), body)
    return await afterAccepted(call, job, `The ${verb}`)
  },
}

const track: Command = {
  name: 'instances track',
  summary: 'Have the source track changed blocks, asked first; --reset only looks anew at each disk',
  covers: [
    'POST /v1/instances/{id}/:enable-background-import',
    'POST /v1/instances/{id}/:reset-background-import',
  ],
  args: [id],
  options: {
    reset: { type: 'boolean', summary: 'only look anew whether each disk is tracked' },
    'remove-snapshots': { type: 'boolean', summary: 'remove snapshots that are in the way, for good' },
    ...guestOptions,
    yes: yesOption,
  },
  run: async (call) => {
    const reset = call.values.reset === true
    if (!reset && call.values.yes !== true) {
      const { name, source } = await readInstance(call)
      await confirm(
        call,
        `${name} (${source}) may have to be switched off and on again for it: whoever uses it is without it meanwhile.`,
      )
    }
    const verb = reset ? ':reset-background-import' : ':enable-background-import'
    const body = reset
      ? undefined
      : { remove_snapshots: call.values['remove-snapshots'] === true, ...guestFields(call) }
    const job = await call.client.post(pathOf('instances', call.args[0], verb), body)
    return await afterAccepted(call, job, 'The tracking')
  },
}

export const instanceCommands: readonly Command[] = [
  listCommand({
    name: 'instances list',
    summary: 'List instances',
    covers: 'GET /v1/instances',
    path: '/v1/instances',
    empty: 'No instance fits.',
    filters: choices,
    columns: instanceColumns,
    note: noteErrors,
  }),
  count,
  show,
  overrides,
  power,
  track,
]
