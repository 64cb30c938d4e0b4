import { type Command, exitCodes } from '../../kit/command.ts'
import { download } from '../../kit/download.ts'
import { field, since } from '../../kit/output.ts'
import { listCommand, pathOf } from '../../kit/rows.ts'

export const storedCertificateCommands: readonly Command[] = [
  listCommand({
    name: 'certificates list',
    summary: 'List certificates, the newest first',
    covers: 'GET /v1/certificates',
    path: '/v1/certificates',
    empty: 'No certificate fits.',
    filters: {
      batch: { type: 'string', value: 'name', summary: 'only of this batch' },
      'instance-id': { type: 'string', value: 'id', summary: 'only of this instance' },
    },
    columns: [
      field('id'),
      field('name'),
      field('batch'),
      field('key_id', 'key'),
      since('created_at', 'signed'),
    ],
  }),
  {
    name: 'certificates get',
    summary: 'Write a certificate to standard output; drover verify checks it',
    covers: ['GET /v1/certificates/{id}'],
    args: [{ name: 'id', summary: 'the id of a certificate' }],
    run: async (call) => {
      await download(call, { path: pathOf('certificates', call.args[0]), as: 'signed' })
      return exitCodes.ok
    },
  },
]
