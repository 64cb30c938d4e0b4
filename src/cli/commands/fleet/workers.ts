import { choice, text } from '../../kit/command.ts'
import { field, fields, numbers, since } from '../../kit/output.ts'
import { list } from '../../kit/rows.ts'

export const workers = list({
  name: 'workers',
  summary: 'The processes of the fleet',
  asks: 'GET /v1/workers',
  empty: 'There are no processes.',
  filters: {
    live: choice('true|false', ['true', 'false'], 'only those that live, or the others'),
    role: text('role', 'only of this role'),
  },
  columns: [
    ...fields('id', 'role'),
    { title: 'state', value: (row) => (row.live || row.stopped_at ? row.state : 'silent') },
    field('host'),
    numbers('pid'),
    field('version'),
    numbers('running'),
    since('heartbeat_at', 'heard of'),
    since('started_at', 'started'),
  ],
})
