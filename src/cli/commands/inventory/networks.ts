import { type Command, choice, type Options, text } from '../../kit/command.ts'
import { type Column, field, fields, gibibytes, numbers, since } from '../../kit/output.ts'
import { list, pathOf, show } from '../../kit/rows.ts'
import { instanceColumns, noteErrors } from './instances.ts'
import { editOverrides, overrideOptions } from './overrides.ts'

const args = [{ name: 'id', summary: 'the id of a network' }]

const places: Options = {
  source: text('name', 'only of this source'),
  target: text('name', 'only of this target'),
  gone: choice('which', ['false', 'true', 'any'], 'those that are gone (false)'),
}

const place: Column = { title: 'place', value: (row) => row.source ?? row.target }

export const networkCommands: readonly Command[] = [
  list({
    name: 'networks list',
    summary: 'List networks of sources and targets',
    asks: 'GET /v1/networks',
    empty: 'There are no networks.',
    filters: { ...places, filter: text('filter', 'CEL, such as \'type == "distributed"\'') },
    columns: [
      field('id'),
      place,
      ...fields('name', 'type', 'vlan'),
      field('placement.network', 'lands on'),
      field('placement.nictype', 'as'),
      field('placement.vlan_id', 'vlan there'),
    ],
    note: noteErrors,
  }),
  show({
    name: 'networks show',
    summary: 'Show a network and where its cards land',
    asks: 'GET /v1/networks/{id}',
    args,
  }),
  list({
    name: 'networks instances',
    summary: 'List the instances that are wired to a network',
    asks: 'GET /v1/networks/{id}/instances',
    args,
    empty: 'No instance is wired to it.',
    columns: instanceColumns,
    note: noteErrors,
  }),
  {
    name: 'networks overrides',
    summary: 'Show where the cards of a network land, change some of it, or take it away',
    covers: ['PUT /v1/networks/{id}/overrides', 'DELETE /v1/networks/{id}/overrides'],
    args,
    options: overrideOptions('{"nictype": "managed", "vlan_id": null}'),
    run: async (call) =>
      editOverrides(call, pathOf('networks', call.args[0], 'overrides'), pathOf('networks', call.args[0])),
  },
]

/** What runs machines, keeps disks and divides targets: each is a list. */
export const hostCommands: readonly Command[] = [
  list({
    name: 'hosts',
    summary: 'List the hosts of sources and targets',
    asks: 'GET /v1/hosts',
    empty: 'There are no hosts.',
    filters: places,
    columns: [
      place,
      ...fields('name', 'cluster', 'state'),
      numbers('cpus'),
      gibibytes('memory', 0),
      gibibytes('memory_used', 0, 'used'),
      field('cpu_class', 'class'),
      since('changed_at', 'changed'),
    ],
  }),
  list({
    name: 'storage',
    summary: 'List datastores and pools',
    asks: 'GET /v1/storage',
    empty: 'There is no storage.',
    filters: places,
    columns: [
      place,
      ...fields('name', 'type'),
      gibibytes('capacity', 0),
      gibibytes('free', 0),
      field('accessible'),
    ],
  }),
  list({
    name: 'projects',
    summary: 'List the projects of targets',
    asks: 'GET /v1/projects',
    empty: 'There are no projects.',
    filters: places,
    columns: [place, field('name'), field('limits'), field('used')],
  }),
]
