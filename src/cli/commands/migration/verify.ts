import type { CertificateDocument } from '../../../certificate/document.ts'
import { verifyCertificate } from '../../../certificate/file.ts'
import { DroverError } from '../../../errors.ts'
import type { Json } from '../../kit/client.ts'
import { type Command, exitCodes, textOf, UsageError } from '../../kit/command.ts'
import { type GivenFile, keyFile, readGiven } from '../../kit/given-file.ts'
import { field, since } from '../../kit/output.ts'
import { itemsOf } from '../../kit/rows.ts'

const verify: Command = {
  name: 'verify',
  summary: 'Check a certificate without asking anybody: 0 proved, 1 altered, 4 nobody vouches, 5 another key',
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
    const text = readGiven(args[0] ?? '', certificateFile)
    const key = keyPath === undefined ? undefined : { path: keyPath, pem: readGiven(keyPath, keyFile) }
    const verdict = judge(text, key)
    if (!verdict.sound) {
      // Whole by itself, and not by the key that was given: somebody else has made it.
      const foreign = keyPath !== undefined && judge(text, undefined).sound
      output.show({ ...verdict, foreign }, () => {
        output.line('NOT SOUND: do not trust this certificate.')
        for (const problem of verdict.problems) output.line(`  ${problem}`)
      })
      return foreign ? exitCodes.foreign : exitCodes.failed
    }
    const { certificate, pinned } = verdict
    output.show({ sound: true, pinned, certificate }, () => {
      output.fields(factsOf(certificate))
      output.line(
        pinned
          ? 'Sound: it is as it was signed, with the key that you gave.'
          : 'NOT PROVED: the file is consistent but nobody vouches for it: anybody can make such a file. Give --key.',
      )
    })
    return pinned ? exitCodes.ok : exitCodes.unproved
  },
}

const certificateFile: GivenFile = {
  option: '<file>',
  holds: 'It is a certificate as it was downloaded: drover certificates get <id> > certificate.json',
}

const judge = (text: string, key: { readonly path: string; readonly pem: string } | undefined) => {
  try {
    return verifyCertificate(text, key?.pem)
  } catch (error) {
    if (error instanceof DroverError && error.field === 'key')
      throw new UsageError(`--key: ${key?.path} holds no public Ed25519 key in PEM form.`, keyFile.holds)
    throw error
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
  summary:
    'The keys that certificates are signed with; --pem gives the one that signs now, for drover verify --key',
  covers: ['GET /v1/signing-keys'],
  options: {
    pem: { type: 'boolean', summary: 'only the public key that signs now, as PEM' },
    id: { type: 'string', value: 'key', summary: 'with --pem: this key, such as one that was retired' },
  },
  run: async ({ client, output, values }) => {
    const answer = await client.get('/v1/signing-keys')
    const items = itemsOf(answer)
    if (values.pem === true) {
      const wanted = textOf(values, 'id')
      const key =
        wanted === undefined
          ? items.find(({ signs }) => signs === true)
          : items.find(({ id }) => id === wanted)
      if (!key) throw new UsageError(absent(wanted))
      for (const line of String(key.public_key).trimEnd().split('\n')) output.line(line)
      return exitCodes.ok
    }
    const columns = [
      field('id'),
      field('algorithm'),
      { title: 'state', value: (row: Json) => (row.signs === true ? 'signs now' : '') },
      since('created_at', 'since'),
      since('retired_at', 'retired'),
    ]
    output.show(answer, () => output.table(columns, items, 'No certificate was signed yet.'))
    return exitCodes.ok
  },
}

const absent = (id: string | undefined): string =>
  id === undefined ? 'No certificate was signed yet, so there is no key.' : `There is no signing key ${id}.`

export const certificateCommands: readonly Command[] = [verify, signingKeys]
