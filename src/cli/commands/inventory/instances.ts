import { isPowerAsked, poweredMachine, powerMeaning } from '../../../domain/inventory/power-meaning.ts'
import { powerVerbs } from '../../../domain/job/kinds/power-instance.ts'
import type { Ask, Json } from '../../kit/client.ts'
import {
  type Call,
  type Command,
  choice,
  flag,
  given,
  number,
  type Options,
  text,
  UsageError,
} from '../../kit/command.ts'
import { confirm, yesOption } from '../../kit/confirm.ts'
import { type Column, field, fields, gibibytes, numbers, type Output } from '../../kit/output.ts'
import { list, pathOf, show } from '../../kit/rows.ts'
import { afterAccepted, waitOption } from '../../kit/wait.ts'
import { editOverrides, overrideOptions } from './overrides.ts'

const args = [{ name: 'id', summary: 'the id of an instance' }]
const presence = ['false', 'true', 'any']

export const filterOption = text('filter', 'CEL, such as \'source == "paris" && cpus > 4\'')
export const readinessOption = choice('word', ['ready', 'warning', 'blocked'], 'only so ready')

const choices: Options = {
  filter: filterOption,
  source: text('name', 'only of this source'),
  readiness: readinessOption,
  ignored: choice('which', presence, 'those that are left out (false)'),
  gone: choice('which', presence, 'those that are gone (false)'),
  migrated: choice('which', presence, 'those that were migrated (false)'),
}

export const instanceColumns: readonly Column[] = [
  ...fields('id', 'source', 'name'),
  field('power_state', 'power'),
  { title: 'system', value: systemOf },
  numbers('cpus'),
  gibibytes('memory', 1),
  gibibytes('disk_bytes', 1, 'disks'),
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
    const query = given(call.values, choices) as Ask['query']
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
  },
}

/** Facts and what is in effect are for programs: they are long. */
const printInstance = (
  output: Output,
  { facts: _facts, effective: _effective, findings, networks, pending, ...plain }: Json,
): void => {
  output.fields(Object.entries(plain))
  output.line()
  output.table(
    [
      ...fields('severity', 'rule', 'waived'),
      { title: 'evidence', value: ({ evidence }) => (evidence as string[]).join(' ') },
      field('remedy'),
    ],
    (findings ?? []) as Json[],
    'No rule is broken.',
  )
  output.line()
  output.table(
    [
      ...fields('nic', 'mac', 'network'),
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
}

const guest: Options = {
  force: flag('pull the plug of a guest that does not go off in time'),
  timeout: number('how long a guest may take to go off (300)', 'seconds', { field: 'timeout_seconds' }),
}

const readInstance = async ({ client, args }: Call) =>
  poweredMachine((await client.get(pathOf('instances', args[0]))) as never)

const power: Command = {
  name: 'instances power',
  summary: 'Switch an instance on or off at its source; off or restart is asked first, or needs --yes',
  covers: ['POST /v1/instances/{id}/:power'],
  args: [...args, { name: 'verb', summary: `one of ${powerVerbs.join(', ')}` }],
  options: { ...guest, wait: waitOption, yes: yesOption },
  run: async (call) => {
    const [instance, asked = ''] = call.args
    const verb = powerVerbs.find((one) => one === asked)
    if (verb === undefined)
      throw new UsageError(`The verb is one of ${powerVerbs.join(', ')}, not "${asked}".`)
    if (isPowerAsked(verb) && call.values.yes !== true)
      await confirm(call, powerMeaning(await readInstance(call), verb))
    const body = { verb, ...given(call.values, guest) }
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
  args,
  options: {
    reset: flag('only look anew whether each disk is tracked'),
    'remove-snapshots': flag('remove snapshots that are in the way, for good'),
    ...guest,
    wait: waitOption,
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
      : { remove_snapshots: call.values['remove-snapshots'] === true, ...given(call.values, guest) }
    const job = await call.client.post(pathOf('instances', call.args[0], verb), body)
    return await afterAccepted(call, job, 'The tracking')
  },
}

export const instanceCommands: readonly Command[] = [
  list({
    name: 'instances list',
    summary: 'List instances',
    asks: 'GET /v1/instances',
    empty: 'There are no instances.',
    filters: choices,
    columns: instanceColumns,
    note: noteErrors,
  }),
  count,
  show({
    name: 'instances show',
    summary: 'Show an instance: facts, overrides, what the rules find, where its cards land',
    asks: 'GET /v1/instances/{id}',
    args,
    print: printInstance,
  }),
  {
    name: 'instances overrides',
    summary: 'Show what people decided about an instance, change some of it, or take it away',
    covers: ['GET', 'PUT', 'DELETE'].map((method) => `${method} /v1/instances/{id}/overrides`),
    args,
    options: overrideOptions('{"cpus": 4, "comment": null}'),
    run: (call) => editOverrides(call, pathOf('instances', call.args[0], 'overrides')),
  },
  power,
  track,
]
