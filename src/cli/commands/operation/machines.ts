import { runPolicies } from '../../../domain/operation/applicability.ts'
import { machineOrigins } from '../../../domain/operation/origin.ts'
import { machinePhases } from '../../../domain/operation/phase.ts'
import type { Json } from '../../kit/client.ts'
import { type Command, exitCodes, type Option, UsageError } from '../../kit/command.ts'
import { type Column, field, since } from '../../kit/output.ts'
import { listCommand, pathOf } from '../../kit/rows.ts'
import { noteErrors } from '../inventory/instances.ts'

const machine = { name: 'machine', summary: 'the id of a machine, or a name that only one has' }

const choices: Readonly<Record<string, Option>> = {
  target: { type: 'string', value: 'name', summary: 'only of this target' },
  host: { type: 'string', value: 'name', summary: 'only on this host' },
  project: { type: 'string', value: 'name', summary: 'only of this project' },
  power: {
    type: 'string',
    value: 'word',
    choices: ['on', 'off', 'suspended', 'unknown'],
    summary: 'only those that were seen so',
  },
  phase: {
    type: 'string',
    value: 'word',
    choices: [...machinePhases],
    summary: 'only those that do this',
  },
  'run-policy': {
    type: 'string',
    value: 'word',
    choices: [...runPolicies],
    summary: 'only with this run policy',
  },
  origin: {
    type: 'string',
    value: 'word',
    choices: machineOrigins,
    summary: 'only those that came so',
  },
  name: { type: 'string', value: 'text', summary: 'only with this in their name' },
  filter: { type: 'string', value: 'filter', summary: 'CEL, such as \'phase == "stopped" && cpus > 4\'' },
  'include-gone': {
    type: 'string',
    value: 'word',
    choices: ['true', 'false'],
    summary: 'also those that are no longer there (false)',
  },
}

const gigabytes = (value: unknown): string =>
  typeof value === 'number' ? `${(value / 2 ** 30).toFixed(1)} GiB` : '-'

const noteOf = (row: Json): unknown => {
  if (row.gone_at) return 'gone'
  if (row.in_migration) return `unfinished copy of ${row.batch}`
  if (row.origin === 'copy') return 'unfinished copy'
  const operation = row.operation as Json | null
  if (!operation) return ''
  return `${operation.kind}${operation.force ? '!' : ''} ${operation.state}${row.queued ? `, ${row.queued} behind it` : ''}`
}

const columns: readonly Column[] = [
  field('id'),
  field('target'),
  field('name'),
  field('host'),
  field('phase'),
  field('run_policy', 'policy'),
  field('cpus', 'cpus', { right: true }),
  { title: 'memory', value: (row) => gigabytes(row.memory), right: true },
  since('seen_at', 'seen'),
  { title: 'note', value: noteOf },
]

const show: Command = {
  name: 'machines show',
  summary: 'Show a machine: where it is, what it does, what is at it',
  covers: ['GET /v1/machines/{id}'],
  args: [machine],
  run: async ({ client, output, args }) => {
    const row = await client.get(pathOf('machines', args[0]))
    output.show(row, () => output.fields(Object.entries(row)))
    return exitCodes.ok
  },
}

const setPolicy: Command = {
  name: 'machines set-policy',
  summary: 'Decide who decides whether a machine runs',
  covers: ['PATCH /v1/machines/{id}'],
  args: [machine, { name: 'policy', summary: `one of ${runPolicies.join(', ')}` }],
  run: async ({ client, output, args }) => {
    const [asked, policy = ''] = args
    if (!runPolicies.some((known) => known === policy))
      throw new UsageError(`The policy is one of ${runPolicies.join(', ')}, not "${policy}".`)
    // By the id that was read: a name may mean another machine by now.
    const { headers, body: before } = await client.ask('GET', pathOf('machines', asked))
    const { body } = await client.ask('PATCH', pathOf('machines', String(before.id)), {
      body: { run_policy: policy },
      headers: { 'if-match': headers.get('etag') ?? '*' },
    })
    output.show(body, () =>
      output.line(`${body.name} is ${body.run_policy} now; it was ${before.run_policy}.`),
    )
    return exitCodes.ok
  },
}

export const machineCommands: readonly Command[] = [
  listCommand({
    name: 'machines list',
    summary: 'List the machines of targets',
    covers: 'GET /v1/machines',
    path: '/v1/machines',
    empty: 'No machine fits.',
    filters: choices,
    columns,
    note: noteErrors,
  }),
  show,
  setPolicy,
]
