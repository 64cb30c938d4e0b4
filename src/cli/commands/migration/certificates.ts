import type { CertificateDocument } from '../../../certificate/document.ts'
import { verifyCertificate } from '../../../certificate/file.ts'
import { DroverError } from '../../../errors.ts'
import { type Command, exitCodes, text, textOf, UsageError } from '../../kit/command.ts'
import { type GivenFile, keyFile, readGiven } from '../../kit/given-file.ts'
import { field, fields, type Line, since, when } from '../../kit/output.ts'
import { download, list } from '../../kit/rows.ts'

export const storedCertificateCommands: readonly Command[] = [
  list({
    name: 'certificates list',
    summary: 'List certificates, the newest first',
    asks: 'GET /v1/certificates',
    empty: 'There are no certificates.',
    filters: {
      batch: text('name', 'only of this batch'),
      'instance-id': text('id', 'only of this instance'),
    },
    columns: [...fields('id', 'name', 'batch'), field('key_id', 'key'), since('created_at', 'signed')],
  }),
  download({
    name: 'certificates get',
    summary: 'Write a certificate to standard output; drover verify checks it',
    asks: 'GET /v1/certificates/{id}',
    args: [{ name: 'id', summary: 'the id of a certificate' }],
    as: 'signed',
  }),
]

export const verify: Command = {
  name: 'verify',
  summary: 'Check a certificate without asking anybody: 0 proved, 1 altered, 4 nobody vouches, 5 another key',
  covers: [],
  args: [{ name: 'file', summary: 'a certificate as it was downloaded' }],
  options: {
    key: text('file', 'the public key that must have signed it: drover signing-keys --pem'),
  },
  run: async ({ output, args, values }) => {
    const keyPath = textOf(values, 'key')
    const given = readGiven(args[0] ?? '', certificateFile)
    const key = keyPath === undefined ? undefined : { path: keyPath, pem: readGiven(keyPath, keyFile) }
    const verdict = judge(given, key)
    if (!verdict.sound) {
      // Whole by itself, and not by the key that was given: somebody else has made it.
      const foreign = keyPath !== undefined && judge(given, undefined).sound
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

const factsOf = (certificate: CertificateDocument): Line[] => {
  const { instance, source, target, disks, checks, ignored, forced } = certificate
  const count = (result: string) => checks.filter((check) => check.result === result).length
  return [
    ['certificate', certificate.id],
    ['instance', `${instance.name} (${instance.uuid})`],
    ['from', `${source.name}, ${source.machine}`],
    ['to', `${target.name}, ${target.machine_name} (${target.machine})`],
    ['verified at', certificate.verified_at],
    ...disks.map(({ disk, source_digest }): Line => [`disk ${disk}`, source_digest]),
    [
      'checks',
      `${count('passed')} passed, ${count('differs')} differ, ${count('failed')} failed, ${count('not-asked')} not asked`,
    ],
    ...when(forced, (): Line[] => [
      ['forced', ignored.map(({ message }) => message).join(' ') || 'nothing to ignore'],
    ]),
    ...(certificate.people ?? []).map(({ did, by, at }): Line => [`${did} by`, `${by}, ${at}`]),
    ['verified by', certificate.by],
    ['signed with', certificate.key_id],
  ]
}
