import { type Command, textOf, UsageError } from '../../kit/command.ts'
import { field, since } from '../../kit/output.ts'
import { listCommand, pathOf } from '../../kit/rows.ts'

const roles = ['viewer', 'operator', 'admin']

const add: Command = {
  name: 'tokens add',
  summary: 'Create a token; its secret is shown this once',
  covers: ['POST /v1/tokens'],
  args: [{ name: 'name', summary: 'whose it is' }],
  options: {
    role: { type: 'string', value: 'role', choices: roles, summary: 'viewer, operator or admin (required)' },
    'expires-at': { type: 'string', value: 'time', summary: 'such as 2027-01-01T00:00:00Z' },
  },
  run: async ({ client, output, args, values }) => {
    const role = textOf(values, 'role')
    if (role === undefined) throw new UsageError('--role is required: viewer, operator or admin.')
    const token = await client.post('/v1/tokens', {
      name: args[0],
      role,
      expires_at: textOf(values, 'expires-at'),
    })
    // The secret alone on its line, so that it can be piped into a file.
    output.show(token, () => output.line(String(token.secret)))
    output.note(
      `Token ${token.name} (${token.role}), id ${token.id}. The secret is shown this once: keep it.`,
    )
    return 0
  },
}

const revoke: Command = {
  name: 'tokens revoke',
  summary: 'Revoke a token, and the sessions made from it',
  covers: ['DELETE /v1/tokens/{id}'],
  args: [{ name: 'id', summary: 'the id of a token' }],
  run: async ({ client, output, args }) => {
    await client.ask('DELETE', pathOf('tokens', args[0]))
    output.show({ id: args[0], revoked: true }, () => output.line('It is revoked.'))
    return 0
  },
}

export const tokenCommands: readonly Command[] = [
  listCommand({
    name: 'tokens list',
    summary: 'List tokens',
    covers: 'GET /v1/tokens',
    path: '/v1/tokens',
    empty: 'There is no token.',
    columns: [
      field('id'),
      field('name'),
      field('role'),
      field('hint'),
      since('last_used_at', 'used'),
      field('expires_at', 'expires'),
      { title: 'state', value: (token) => (token.revoked_at ? 'revoked' : 'good') },
    ],
  }),
  add,
  revoke,
]
