export type LabQuery = Readonly<Record<string, string | number | readonly string[] | undefined>>

/**
 * A path below a site with its refs encoded: labPath`/instances/${ref}/power`. Empty when a ref is none that any
 * platform gives and would lead to another path: nothing has it, so nobody need be asked.
 */
export const labPath = (parts: TemplateStringsArray, ...refs: readonly string[]): string =>
  refs.some((ref) => ref === '' || ref === '.' || ref === '..' || !ref.isWellFormed())
    ? ''
    : parts.reduce((path, part, index) => path + encodeURIComponent(refs[index - 1] ?? '') + part)

export const withQuery = (path: string, query: LabQuery): string => {
  const search = new URLSearchParams()
  for (const [key, value] of Object.entries(query))
    for (const one of Array.isArray(value)
      ? (value as readonly string[])
      : [value as string | number | undefined])
      if (one !== undefined) search.append(key, String(one))
  return search.size === 0 ? path : `${path}?${search}`
}

/** A name as a header may hold it; the same text always gives the same name. */
export const headerText = (text: string): string =>
  /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text) ? text : encodeURIComponent(text.toWellFormed())
