import { createPublicKey, type KeyObject } from 'node:crypto'
import { isHeadSignedBy, parseHead } from '../../../seal/seal-head.ts'
import type { Json } from '../../kit/client.ts'
import { type Command, exitCodes, number, numberOf, text, textOf, UsageError } from '../../kit/command.ts'
import { type GivenFile, keyFile, readGiven } from '../../kit/given-file.ts'
import { type Line, when } from '../../kit/output.ts'
import { show } from '../../kit/rows.ts'

const seals = show({
  name: 'events seals',
  summary: 'The newest seal, and the signed head that was handed out last: note it elsewhere',
  asks: 'GET /v1/events/seals',
  print: (output, found) => {
    const [head, newest] = [found.head as Json | null, found.newest as Json | null]
    output.fields([
      ['head', head?.line ?? 'none was handed out yet'],
      ['handed out', head?.at ?? null],
      ['newest seal', newest ? `${newest.seq}:${newest.hash}` : null],
      ['sealed', newest?.sealed_at ?? null],
      ['kept at least', `${found.kept_days_min} days`],
    ])
  },
})

const verify: Command = {
  name: 'events verify',
  summary: 'Check the hash chain over all events: 0 whole, 1 broken, 4 whole as far as anybody can tell',
  covers: ['GET /v1/events/:verify'],
  options: {
    from: number('begin at this seal', 'seq'),
    head: text(
      'head|file',
      'a head that you noted (a line, seq:hash, or a file of lines): shows a tail that was cut off',
    ),
    key: text('file', 'the public key that must have signed the head: drover signing-keys --pem'),
    'kept-days': number('how long you keep events: younger ones that are gone are a fault'),
  },
  run: async ({ client, output, values }) => {
    const head = notedHead(textOf(values, 'head'), textOf(values, 'key'))
    const report = await client.get('/v1/events/:verify', {
      from: numberOf(values, 'from'),
      head,
      kept_days: numberOf(values, 'kept-days'),
    })
    output.show(report, () => {
      output.fields(fieldsOf(report))
      output.line('Not shown by this run:')
      for (const sentence of (report.not_shown as string[] | undefined) ?? []) output.line(`  ${sentence}`)
    })
    if (!report.ok) return exitCodes.failed
    // Without a head from before, a chain that was cut off, or emptied, looks like a whole one.
    if (head !== undefined && Number(report.seals) > 0) return exitCodes.ok
    output.note(
      'NOT PROVED: nobody can say whether its end was cut off. Give a head that was handed out, or that of an earlier check, with --head.',
    )
    return exitCodes.unproved
  },
}

const fieldsOf = (report: Json): Line[] => {
  const head = report.head as Json | null
  const broken = report.first_broken as Json | null
  return [
    ['chain', report.ok ? 'whole' : `broken at seal ${broken?.seq}: ${broken?.why}`],
    ['seals', report.seals],
    ['events', report.events],
    ['pruned', report.pruned],
    ...when(report.accepted as Json | null, ({ to_seq, at }): Line[] => [
      ['accepted', `seals 1 to ${to_seq}, as they were at ${at}`],
    ]),
    ['head', head ? `${head.seq}:${head.hash}` : null],
  ]
}

const headFile: GivenFile = {
  option: '--head',
  holds:
    'A head is one line: drover-head-1:<number>:<hash>:<time>:<key>:<signature>, or <number>:<hash> of a seal. Give the line, or a file whose last line it is. ' +
    'drover events seals shows the last one that was handed out; those from before are where you keep them: from the webhook, the log of the conductor or its DROVER_SEAL_HEADS_FILE.',
}

/** What begins like a head is meant as one, also when it was cut off on its way. */
const likeHead = /^(\d+:|drover-head-)/
const plainHead = /^\d{1,15}:[0-9a-f]{64}$/

/** A head, or the last line of the file of that name. */
const readHead = (given: string): string => {
  const isLine = likeHead.test(given)
  const line = isLine ? given : (readGiven(given, headFile).trim().split('\n').at(-1) ?? '').trim()
  if (parseHead(line) || plainHead.test(line)) return line
  const what = isLine ? 'what was given is no whole head' : `the last line of ${given} is no head`
  throw new UsageError(`${headFile.option}: ${what}.`, headFile.holds)
}

/** The head to go by; with a key, one that the key has signed. */
const notedHead = (given: string | undefined, keyPath: string | undefined): string | undefined => {
  if (given === undefined) {
    if (keyPath !== undefined) throw new UsageError('--key checks the signature of --head: give both.')
    return undefined
  }
  const noted = readHead(given)
  if (keyPath === undefined) return noted
  const key = readKey(keyPath)
  const head = parseHead(noted)
  if (!head)
    throw new UsageError(
      '--head: <number>:<hash> has no signature that --key could check. Give the whole line.',
      headFile.holds,
    )
  if (!isHeadSignedBy(head, key))
    throw new UsageError(`--head: it was not signed with the key in ${keyPath}.`)
  // The key that a person keeps has vouched for the line: what the API knows of that key could only be less.
  return `${head.seq}:${head.hash}`
}

const readKey = (path: string): KeyObject => {
  const pem = readGiven(path, keyFile)
  try {
    return createPublicKey(pem)
  } catch {
    throw new UsageError(`--key: ${path} holds no public key.`, keyFile.holds)
  }
}

export const sealCommands: readonly Command[] = [seals, verify]
