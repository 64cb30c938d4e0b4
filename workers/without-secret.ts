import { DroverError } from '../src/errors.ts'
import { type PlatformCode, PlatformError } from '../src/platforms/ports/platform-error.ts'

/** Too short to be told from ordinary words. */
const shortest = 4

/**
 * The error with a secret cut out of all its text, in case a platform has sent it back. An error without the secret is
 * returned unchanged. The cause is dropped too: its stack repeats the message.
 */
export const withoutSecret = (thrown: unknown, secrets: readonly string[]): unknown => {
  const spellings = [...new Set(secrets.filter((secret) => secret.length >= shortest).flatMap(spellingsOf))]
  if (spellings.length === 0 || !(thrown instanceof Error) || !holds(thrown, spellings)) return thrown
  const cut = (text: string): string =>
    spellings.reduce((rest, spelling) => rest.replaceAll(spelling, '***'), text)
  if (!(thrown instanceof DroverError)) return new Error(cut(thrown.message))
  const facts = {
    code: thrown.code,
    message: cut(thrown.message),
    remedy: cut(thrown.remedy),
    ...(thrown.field === undefined ? {} : { field: thrown.field }),
    ...(thrown.detail === undefined ? {} : { detail: cutDetail(thrown.detail, cut) }),
  }
  if (!(thrown instanceof PlatformError)) return new DroverError({ ...facts, class: thrown.class })
  return new PlatformError({ ...facts, code: thrown.code as PlatformCode, failure: thrown.failure })
}

/** The spellings of a secret in a URL, in JSON, in XML or in a header. */
const spellingsOf = (secret: string): string[] => [
  secret,
  encodeURIComponent(secret),
  JSON.stringify(secret).slice(1, -1),
  secret.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
  Buffer.from(secret).toString('base64'),
]

const holds = (error: Error, spellings: readonly string[]): boolean => {
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1) {
    const detail = at instanceof DroverError ? `${at.remedy} ${JSON.stringify(at.detail ?? {})}` : ''
    const text = `${at.message} ${at.stack ?? ''} ${detail}`
    if (spellings.some((spelling) => text.includes(spelling))) return true
  }
  return false
}

const cutDetail = (detail: Record<string, unknown>, cut: (text: string) => string): Record<string, unknown> =>
  JSON.parse(
    JSON.stringify(detail, (_key, value: unknown) => (typeof value === 'string' ? cut(value) : value)),
  ) as Record<string, unknown>
