const mostId = 4_094

/**
 * Ranges of a VLAN list such as `100,200-210`; undefined: it is none. Spaces around its parts are no part of it; inside
 * one they are a mistake, which must not make another number of two. 0 is what trunks begin with.
 */
export const parseVlans = (text: string): readonly (readonly [number, number])[] | undefined => {
  const ranges: [number, number][] = []
  for (const part of text.split(',').map((one) => one.trim())) {
    if (part === '') continue
    const match = /^(\d{1,4})(?:-(\d{1,4}))?$/.exec(part)
    if (!match) return undefined
    const [from, to] = [Number(match[1]), Number(match[2] ?? match[1])]
    if (from > to || to > mostId) return undefined
    ranges.push([from, to])
  }
  return ranges
}

/** The same list without the spaces around its parts. */
export const tidyVlans = (text: string): string =>
  text
    .split(',')
    .map((part) => part.trim())
    .join(',')
