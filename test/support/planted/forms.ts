import { randomBytes } from 'node:crypto'

/** A secret that somebody could have written down somewhere. */
export interface Planted {
  readonly name: string
  readonly value: string
}

/** Something that was kept, said or shown. */
export interface Piece {
  /** What kind of place: `tables`, `logs`, `answers`. */
  readonly place: string
  /** Which of them: `public.site`, `GET /v1/sites as viewer`. */
  readonly where: string
  readonly text: string
}

export interface Finding {
  readonly secret: string
  readonly form: string
  readonly place: string
  readonly where: string
}

/** Where a secret belongs all the same, and why. */
export interface Belongs {
  readonly secret: string
  readonly place: string
  readonly where: RegExp
  readonly why: string
}

/** No text of ours by chance; with the characters that forms are about. */
export const distinct = (name: string): string => `${name}-"/+%ä${randomBytes(12).toString('hex')}`

/** The same where a header, a URL or a token must hold it. */
export const distinctWord = (name: string): string => `${name}-${randomBytes(18).toString('hex')}`

/** Base64 of a text that begins at any place of a longer one: without the signs that its neighbours have a part in. */
const base64Forms = (value: string): string[] =>
  [0, 1, 2].map((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(value)])
    const whole = bytes.subarray(0, bytes.length - (bytes.length % 3))
    return whole.toString('base64').slice(before === 0 ? 0 : 4)
  })

const urlSafe = (text: string): string => text.replaceAll('+', '-').replaceAll('/', '_')

/** How a value may look in a place, by the name of the form. */
export const formsOf = (value: string): ReadonlyMap<string, string> => {
  const json = JSON.stringify(value).slice(1, -1)
  const [aligned = '', second = '', third = ''] = base64Forms(value)
  const all: [string, string][] = [
    ['plain', value],
    ['JSON', json],
    ['JSON in JSON', JSON.stringify(json).slice(1, -1)],
    ['URL', encodeURIComponent(value)],
    ['form', new URLSearchParams({ a: value }).toString().slice(2)],
    ['hex', Buffer.from(value).toString('hex')],
    ['HEX', Buffer.from(value).toString('hex').toUpperCase()],
    ['base64', aligned],
    ['base64, one further', second],
    ['base64, two further', third],
    ['base64url', urlSafe(aligned)],
    ['base64url, one further', urlSafe(second)],
    ['base64url, two further', urlSafe(third)],
    ['HTML', value.replaceAll('&', '&amp;').replaceAll('"', '&quot;')],
    ['as bytes', Buffer.from(value).toString('latin1')],
  ]
  const forms = new Map<string, string>()
  const seen = new Set<string>()
  for (const [name, text] of all) if (!seen.has(text) && seen.add(text)) forms.set(name, text)
  return forms
}

/** Every secret in every form in every piece, but where it belongs. */
export const lookThrough = (
  planted: readonly Planted[],
  pieces: readonly Piece[],
  belongs: readonly Belongs[] = [],
): Finding[] => {
  const wanted = planted.map(({ name, value }) => ({ name, forms: [...formsOf(value)] }))
  return pieces.flatMap(({ place, where, text }) =>
    wanted.flatMap(({ name, forms }) =>
      forms
        .filter(([, form]) => text.includes(form))
        .map(([form]) => ({ secret: name, form, place, where }))
        .filter(
          (found) =>
            !belongs.some((one) => one.secret === name && one.place === place && one.where.test(found.where)),
        ),
    ),
  )
}
