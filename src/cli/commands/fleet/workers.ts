import type { Command } from '../../kit/command.ts'
import { field, since } from '../../kit/output.ts'
import { listCommand } from '../../kit/rows.ts'

export const workerCommands: readonly Command[] = [
  listCommand({
    name: 'workers',
    summary: 'The processes of the fleet',
    covers: 'GET /v1/workers',
    path: '/v1/workers',
    empty: 'No process fits.',
    filters: {
      live: {
        type: 'string',
        value: 'true|false',
        choices: ['true', 'false'],
        summary: 'only those that live, or the others',
      },
      role: { type: 'string', value: 'role', summary: 'only of this role' },
    },
    columns: [
      field('id'),
      field('role'),
      { title: 'state', value: (row) => (row.live || row.stopped_at ? row.state : 'silent') },
      field('host'),
      field('pid', 'pid', { right: true }),
      field('version'),
      field('running', 'running', { right: true }),
      since('heartbeat_at', 'heard of'),
      since('started_at', 'started'),
    ],
  }),
]
