import { PlatformError } from '../platform-error.ts'

export type LabQuery = Readonly<Record<string, string | number | readonly string[] | undefined>>

/** A path below a site with its refs encoded: labPath`/instances/${ref}/power`. */
export const labPath = (parts: TemplateStringsArray, ...refs: readonly string[]): string =>
  parts.reduce((path, part, index) => path + encodeRef(refs[index - 1] ?? '') + part)

export const withQuery = (path: string, query: LabQuery): string => {
  const search = new URLSearchParams()
  for (const [key, value] of Object.entries(query))
    for (const one of Array.isArray(value)
      ? (value as readonly string[])
      : [value as string | number | undefined])
      if (one !== undefined) search.append(key, String(one))
  return search.size === 0 ? path : `${path}?${search}`
}

/** A ref that would lead to another path names nothing that the lab has. */
const encodeRef = (ref: string): string => {
  if (ref !== '' && ref !== '.' && ref !== '..') return encodeURIComponent(ref)
  throw new PlatformError({
    code: 'platform-absent',
    failure: 'absent',
    message: `There is nothing with the ref "${ref}".`,
    remedy: 'Read the inventory again: refs come from there.',
  })
}

/** A name as a header may hold it; the same text always gives the same name. */
export const headerText = (text: string): string =>
  /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text) ? text : encodeURIComponent(text)
