import { runPolicies } from '../../../domain/operation/kinds/applicability.ts'
import { machineOrigins } from '../../../domain/operation/kinds/origin.ts'
import { machinePhases } from '../../../domain/operation/kinds/phase.ts'
import type { Json } from '../../kit/client.ts'
import { type Command, choice, type Options, text, UsageError } from '../../kit/command.ts'
import { field, fields, gibibytes, numbers, since } from '../../kit/output.ts'
import { list, matching, pathOf, show } from '../../kit/rows.ts'
import { noteErrors } from '../inventory/instances.ts'

const args = [{ name: 'machine', summary: 'the id of a machine, or a name that only one has' }]

const filters: Options = {
  target: text('name', 'only of this target'),
  host: text('name', 'only on this host'),
  project: text('name', 'only of this project'),
  power: choice('word', ['on', 'off', 'suspended', 'unknown'], 'only those that were seen so'),
  phase: choice('word', machinePhases, 'only those that do this'),
  'run-policy': choice('word', runPolicies, 'only with this run policy'),
  origin: choice('word', machineOrigins, 'only those that came so'),
  name: text('text', 'only with this in their name'),
  filter: text('filter', 'CEL, such as \'phase == "stopped" && cpus > 4\''),
  'include-gone': choice('word', ['true', 'false'], 'also those that are no longer there (false)'),
}

const noteOf = (row: Json): unknown => {
  if (row.gone_at) return 'gone'
  if (row.in_migration) return `unfinished copy of ${row.batch}`
  if (row.origin === 'copy') return 'unfinished copy'
  const operation = row.operation as Json | null
  if (!operation) return ''
  return `${operation.kind}${operation.force ? '!' : ''} ${operation.state}${row.queued ? `, ${row.queued} behind it` : ''}`
}

const setPolicy: Command = {
  name: 'machines set-policy',
  summary: 'Decide who decides whether a machine runs',
  covers: ['PATCH /v1/machines/{id}'],
  args: [...args, { name: 'policy', summary: `one of ${runPolicies.join(', ')}` }],
  run: async ({ client, output, args: [asked, policy = ''] }) => {
    if (!runPolicies.some((known) => known === policy))
      throw new UsageError(`The policy is one of ${runPolicies.join(', ')}, not "${policy}".`)
    // By the id that was read: a name may mean another machine by now.
    const { headers, body: before } = await client.ask('GET', pathOf('machines', asked))
    const { body } = await client.ask('PATCH', pathOf('machines', String(before.id)), {
      body: { run_policy: policy },
      headers: matching(headers),
    })
    output.show(body, () =>
      output.line(`${body.name} is ${body.run_policy} now; it was ${before.run_policy}.`),
    )
  },
}

export const machineCommands: readonly Command[] = [
  list({
    name: 'machines list',
    summary: 'List the machines of targets',
    asks: 'GET /v1/machines',
    empty: 'There are no machines.',
    filters,
    columns: [
      ...fields('id', 'target', 'name', 'host', 'phase'),
      field('run_policy', 'policy'),
      numbers('cpus'),
      gibibytes('memory', 1),
      since('seen_at', 'seen'),
      { title: 'note', value: noteOf },
    ],
    note: noteErrors,
  }),
  show({
    name: 'machines show',
    summary: 'Show a machine: where it is, what it does, what is at it',
    asks: 'GET /v1/machines/{id}',
    args,
  }),
  setPolicy,
]
