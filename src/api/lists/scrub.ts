/** Names under which people keep secrets where they should not: in attributes, tags and notes. */
const secretName =
  /(pass(word|wd|phrase|code)?|pwd|kennwort|secret|token|credential|api[-_ ]?key|access[-_ ]?key|private[-_ ]?key)s?$/i

const removed = '(removed)'

/** `password: x`, `pwd=x`, `token "x"` inside a text; what follows up to a blank goes. */
const secretInText =
  /\b((?:\w*[-_])?(?:pass(?:word|wd|phrase|code)?|pwd|kennwort|secret|token|credentials?|(?:api|access|private)[-_ ]?key))(["']?\s*(?:[:=]|\bis\b)\s*)("[^"]*"|'[^']*'|\S+)/gi
const userInfo = /(\b[a-z][a-z0-9+.-]*:\/\/)[^\s/@]+@/gi
const privateKey = /-----BEGIN ([A-Z0-9 ]*PRIVATE KEY)-----[\s\S]*?(-----END \1-----|$)/g
const bearer = /\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}/gi

const scrubText = (text: string): string =>
  text
    .replace(privateKey, removed)
    .replace(userInfo, `$1${removed}@`)
    .replace(secretInText, `$1$2${removed}`)
    .replace(bearer, `$1 ${removed}`)

/** A copy for other people's eyes: whatever looks like a secret is taken out, by its name or by its form. */
export const scrub = (value: unknown): unknown => {
  if (typeof value === 'string') return scrubText(value)
  if (Array.isArray(value)) return value.map(scrub)
  if (value instanceof Date) return value.toISOString()
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      scrubText(name),
      secretName.test(name) && holdsText(inner) ? removed : scrub(inner),
    ]),
  )
}

/** Flags such as `has_password` say nothing that has to go. */
const holdsText = (value: unknown): boolean =>
  typeof value === 'string' || (typeof value === 'object' && value !== null)
