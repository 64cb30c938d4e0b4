import { type Command, choice, given, type Options, text } from '../../kit/command.ts'
import { field, fields, since } from '../../kit/output.ts'
import { list, verb } from '../../kit/rows.ts'

const options: Options = {
  role: choice('role', ['viewer', 'operator', 'admin'], 'viewer, operator or admin (required)', {
    required: 'viewer, operator or admin',
  }),
  'expires-at': text('time', 'such as 2027-01-01T00:00:00Z'),
}

export const tokenCommands: readonly Command[] = [
  list({
    name: 'tokens list',
    summary: 'List tokens',
    asks: 'GET /v1/tokens',
    empty: 'There is no token.',
    columns: [
      ...fields('id', 'name', 'role', 'hint'),
      since('last_used_at', 'used'),
      field('expires_at', 'expires'),
      { title: 'state', value: (token) => (token.revoked_at ? 'revoked' : 'good') },
    ],
  }),
  verb({
    name: 'tokens add',
    summary: 'Create a token; its secret is shown this once',
    asks: 'POST /v1/tokens',
    args: [{ name: 'name', summary: 'whose it is' }],
    options,
    body: ({ args, values }) => ({ name: args[0], ...given(values, options) }),
    // The secret alone on its line, so that it can be piped into a file.
    said: (token) => String(token.secret),
    note: ({ name, role, id }) =>
      `Token ${name} (${role}), id ${id}. The secret is shown this once: keep it.`,
  }),
  verb({
    name: 'tokens revoke',
    summary: 'Revoke a token, and the sessions made from it',
    asks: 'DELETE /v1/tokens/{id}',
    args: [{ name: 'id', summary: 'the id of a token' }],
    answer: ({ args }) => ({ id: args[0], revoked: true }),
    said: () => 'It is revoked.',
  }),
]
