import { readFile } from 'node:fs/promises'
import type { CertificateDocument } from '../../certificate/document.ts'
import { verifyCertificate } from '../../certificate/file.ts'
import { DroverError } from '../../errors.ts'
import { type Command, exitCodes, textOf, UsageError } from '../command.ts'
import { field, since } from '../output.ts'
import { itemsOf } from './lists.ts'

const verify: Command = {
  name: 'verify',
  summary: 'Check a certificate without asking anybody; exit code 1 when anything in it was altered',
  covers: [],
  args: [{ name: 'file', summary: 'a certificate as it was downloaded' }],
  options: {
    key: {
      type: 'string',
      value: 'file',
      summary: 'the public key that must have signed it: drover signing-keys --pem',
    },
  },
  run: async ({ output, args, values }) => {
    const keyPath = textOf(values, 'key')
    const text = await read(args[0] ?? '')
    const verdict = judge(text, keyPath === undefined ? undefined : await read(keyPath))
    if (!verdict.sound) {
      output.show(verdict, () => {
        output.line('NOT SOUND: do not trust this certificate.')
        for (const problem of verdict.problems) output.line(`  ${problem}`)
      })
      return exitCodes.failed
    }
    const { certificate, pinned } = verdict
    output.show({ sound: true, pinned, certificate }, () => {
      output.fields(factsOf(certificate))
      output.line(
        pinned
          ? 'Sound: it is as it was signed, with the key that you gave.'
          : 'Sound: it is as it was signed. Give --key to be certain by whom.',
      )
    })
    return exitCodes.ok
  },
}

const judge = (text: string, pem: string | undefined) => {
  try {
    return verifyCertificate(text, pem)
  } catch (error) {
    if (error instanceof DroverError) throw new UsageError(`${error.message} ${error.remedy}`)
    throw error
  }
}

const read = async (path: string): Promise<string> => {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw new UsageError(`${path} cannot be read: ${(error as Error).message}`)
  }
}

const factsOf = (certificate: CertificateDocument): [string, unknown][] => {
  const { instance, source, target, disks, checks, ignored, forced } = certificate
  const count = (result: string) => checks.filter((check) => check.result === result).length
  return [
    ['certificate', certificate.id],
    ['instance', `${instance.name} (${instance.uuid})`],
    ['from', `${source.name}, ${source.machine}`],
    ['to', `${target.name}, ${target.machine_name} (${target.machine})`],
    ['verified at', certificate.verified_at],
    ...disks.map(({ disk, source_digest }): [string, unknown] => [`disk ${disk}`, source_digest]),
    [
      'checks',
      `${count('passed')} passed, ${count('differs')} differ, ${count('failed')} failed, ${count('not-asked')} not asked`,
    ],
    ...(forced
      ? ([['forced', ignored.map(({ message }) => message).join(' ') || 'nothing to ignore']] as const)
      : []),
    ...(certificate.people ?? []).map(({ did, by, at }): [string, unknown] => [`${did} by`, `${by}, ${at}`]),
    ['verified by', certificate.by],
    ['signed with', certificate.key_id],
  ] as [string, unknown][]
}

const signingKeys: Command = {
  name: 'signing-keys',
  summary: 'The keys that certificates are signed with; --pem gives the newest for drover verify --key',
  covers: ['GET /v1/signing-keys'],
  options: { pem: { type: 'boolean', summary: 'only the newest public key, as PEM' } },
  run: async ({ client, output, values }) => {
    const answer = await client.get('/v1/signing-keys')
    const items = itemsOf(answer)
    if (values.pem === true) {
      const [newest] = items
      if (!newest) throw new UsageError('No certificate was signed yet, so there is no key.')
      for (const line of String(newest.public_key).trimEnd().split('\n')) output.line(line)
      return exitCodes.ok
    }
    const columns = [field('id'), field('algorithm'), since('created_at', 'since')]
    output.show(answer, () => output.table(columns, items, 'No certificate was signed yet.'))
    return exitCodes.ok
  },
}

export const certificateCommands: readonly Command[] = [verify, signingKeys]
