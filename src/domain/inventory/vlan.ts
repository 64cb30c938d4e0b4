const mostId = 4_094

/**
 * Ranges of a VLAN list such as `100,200-210`; undefined: invalid. Spaces around the parts are ignored; a space inside
 * a part is a mistake and must not change a number. 0 is invalid.
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
