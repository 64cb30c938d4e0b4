import type { Json } from '../../kit/client.ts'
import { type Command, flag, text, textOf, UsageError } from '../../kit/command.ts'
import { yesOption } from '../../kit/confirm.ts'
import { fields, since } from '../../kit/output.ts'
import { itemsOf, verb } from '../../kit/rows.ts'

/** The keys that certificates are signed with; beside the list, the public half of a single one. */
export const signingKeys: Command = {
  name: 'signing-keys',
  summary:
    'The keys that certificates are signed with; --pem gives the one that signs now, for drover verify --key',
  covers: ['GET /v1/signing-keys'],
  options: {
    pem: flag('only the public key that signs now, as PEM'),
    id: text('key', 'with --pem: this key, such as one that was retired'),
  },
  run: async ({ client, output, values }) => {
    const answer = await client.get('/v1/signing-keys')
    const items = itemsOf(answer)
    if (values.pem === true) {
      const wanted = textOf(values, 'id')
      const key = items.find(({ id, signs }) => (wanted === undefined ? signs === true : id === wanted))
      if (!key) throw new UsageError(absent(wanted))
      for (const line of String(key.public_key).trimEnd().split('\n')) output.line(line)
      return
    }
    const columns = [
      ...fields('id', 'algorithm'),
      { title: 'state', value: ({ signs }: Json) => (signs === true ? 'signs now' : '') },
      since('created_at', 'since'),
      since('retired_at', 'retired'),
    ]
    output.show(answer, () => output.table(columns, items, 'No certificate was signed yet.'))
  },
}

const absent = (id: string | undefined): string =>
  id === undefined ? 'No certificate was signed yet, so there is no key.' : `There is no signing key ${id}.`

export const rotateKey = verb({
  name: 'signing-keys rotate',
  summary: 'Sign certificates with a new key from now on, asked first; old ones stay good',
  asks: 'POST /v1/signing-keys/:rotate',
  options: { yes: yesOption },
  confirm:
    'From now on another key signs certificates and heads of the event chain, and the private half of the one before is ' +
    'destroyed for good. What it signed stays good. The new public half must be handed out to everybody who checks.',
  said: ({ id }) => `Certificates are signed with ${id} from now on.`,
  note: () => 'Save its public half where Drover cannot change it: drover signing-keys --pem.',
})
