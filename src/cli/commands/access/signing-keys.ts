import type { Command } from '../../kit/command.ts'
import { confirm, yesOption } from '../../kit/confirm.ts'
import { pathOf } from '../../kit/rows.ts'

const rotate: Command = {
  name: 'signing-keys rotate',
  summary: 'Sign certificates with a new key from now on, asked first; old ones stay good',
  covers: ['POST /v1/signing-keys/:rotate'],
  options: { yes: yesOption },
  run: async (call) => {
    const { client, output } = call
    await confirm(call, meaning)
    const key = await client.post(pathOf('signing-keys', ':rotate'))
    output.show(key, () => output.line(`Certificates are signed with ${key.id} from now on.`))
    output.note('Save its public half where Drover cannot change it: drover signing-keys --pem.')
    return 0
  },
}

const meaning =
  'From now on another key signs certificates and heads of the event chain, and the private half of the one before is ' +
  'destroyed for good. What it signed stays good. The new public half must be handed out to everybody who checks.'

export const signingKeyCommands: readonly Command[] = [rotate]
