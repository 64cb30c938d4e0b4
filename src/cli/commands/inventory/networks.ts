import type { Command, Option } from '../../kit/command.ts'
import { type Column, field, since } from '../../kit/output.ts'
import { listCommand, pathOf } from '../../kit/rows.ts'
import { editOverrides, instanceColumns, noteErrors, setOption } from './instances.ts'

const id = { name: 'id', summary: 'the id of a network' }

const places: Readonly<Record<string, Option>> = {
  source: { type: 'string', value: 'name', summary: 'only of this source' },
  target: { type: 'string', value: 'name', summary: 'only of this target' },
  gone: {
    type: 'string',
    value: 'which',
    choices: ['false', 'true', 'any'],
    summary: 'those that are gone (false)',
  },
}

const place: Column = { title: 'place', value: (row) => row.source ?? row.target }

const size =
  (name: string): Column['value'] =>
  (row) =>
    typeof row[name] === 'number' ? `${(row[name] / 2 ** 30).toFixed(0)} GiB` : '-'

export const networkCommands: readonly Command[] = [
  listCommand({
    name: 'networks list',
    summary: 'List networks of sources and targets',
    covers: 'GET /v1/networks',
    path: '/v1/networks',
    empty: 'No network fits.',
    filters: {
      ...places,
      filter: { type: 'string', value: 'filter', summary: 'CEL, such as \'type == "distributed"\'' },
    },
    columns: [
      field('id'),
      place,
      field('name'),
      field('type'),
      field('vlan'),
      field('placement.network', 'lands on'),
      field('placement.nictype', 'as'),
      field('placement.vlan_id', 'vlan there'),
    ],
    note: noteErrors,
  }),
  {
    name: 'networks show',
    summary: 'Show a network and where its cards land',
    covers: ['GET /v1/networks/{id}'],
    args: [id],
    run: async ({ client, output, args }) => {
      const network = await client.get(pathOf('networks', args[0]))
      output.show(network, () => output.fields(Object.entries(network)))
      return 0
    },
  },
  listCommand({
    name: 'networks instances',
    summary: 'List the instances that are wired to a network',
    covers: 'GET /v1/networks/{id}/instances',
    path: ({ args }) => pathOf('networks', args[0], 'instances'),
    args: [id],
    empty: 'No instance is wired to it.',
    columns: instanceColumns,
    note: noteErrors,
  }),
  {
    name: 'networks overrides',
    summary: 'Show where the cards of a network land, change some of it, or take it away',
    covers: ['PUT /v1/networks/{id}/overrides', 'DELETE /v1/networks/{id}/overrides'],
    args: [id],
    options: {
      set: setOption('{"nictype": "managed", "vlan_id": null}'),
      clear: { type: 'boolean', summary: 'take all of them away' },
    },
    run: async (call) =>
      editOverrides(call, pathOf('networks', call.args[0], 'overrides'), pathOf('networks', call.args[0])),
  },
]

/** What runs machines, keeps disks and divides targets: each is a list. */
export const hostCommands: readonly Command[] = [
  listCommand({
    name: 'hosts',
    summary: 'List the hosts of sources and targets',
    covers: 'GET /v1/hosts',
    path: '/v1/hosts',
    empty: 'No host fits.',
    filters: places,
    columns: [
      place,
      field('name'),
      field('cluster'),
      field('state'),
      field('cpus', 'cpus', { right: true }),
      { title: 'memory', value: size('memory'), right: true },
      { title: 'used', value: size('memory_used'), right: true },
      field('cpu_class', 'class'),
      since('changed_at', 'changed'),
    ],
  }),
  listCommand({
    name: 'storage',
    summary: 'List datastores and pools',
    covers: 'GET /v1/storage',
    path: '/v1/storage',
    empty: 'No storage fits.',
    filters: places,
    columns: [
      place,
      field('name'),
      field('type'),
      { title: 'capacity', value: size('capacity'), right: true },
      { title: 'free', value: size('free'), right: true },
      field('accessible'),
    ],
  }),
  listCommand({
    name: 'projects',
    summary: 'List the projects of targets',
    covers: 'GET /v1/projects',
    path: '/v1/projects',
    empty: 'No project fits.',
    filters: places,
    columns: [place, field('name'), field('limits'), field('used')],
  }),
]
