import { type Call, listOf, type Options, repeated, text, textOf, UsageError } from '../../kit/command.ts'
import { readGiven } from '../../kit/given-file.ts'
import { passwordOption } from '../../kit/password.ts'

export const signIn = text('name', 'who Drover signs in as')

/** What decides about the connection to a source or target, and its settings. */
export const connectionOptions: Options = {
  username: signIn,
  ca: text('file', "certificates (PEM) to trust instead of the system's"),
  fingerprint: text('hex', "SHA-256 of the server's certificate, to pin it"),
  setting: repeated('name=value', 'such as import_limit=8 or scopes=["/Paris"]; may be repeated', 'settings'),
  'password-stdin': passwordOption,
}

/** `import_limit=8` as a field of the settings: what is JSON is taken as that, anything else as text. */
export const settingsOf = (call: Call): Record<string, unknown> | undefined => {
  const pairs = listOf(call.values, 'setting')
  if (pairs.length === 0) return undefined
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=')
      if (at < 1) throw new UsageError(`--setting takes name=value, not "${pair}".`)
      return [pair.slice(0, at), jsonOrText(pair.slice(at + 1))]
    }),
  )
}

const jsonOrText = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** What the file of certificates holds; an empty name takes them away. */
export const caOf = (call: Call): string | undefined => {
  const file = textOf(call.values, 'ca')
  if (file === undefined || file === '') return file
  return readGiven(file, {
    option: '--ca',
    holds:
      'It is a file with the certificates (PEM) of those who sign for the server. --ca "" trusts the system\'s again.',
  })
}
