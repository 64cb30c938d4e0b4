/**
 * What a JSON answer may hold. A value of two bytes takes sixty in memory, so bytes alone are no bound; what checks
 * shapes makes a finding for each value that does not fit.
 */
export const jsonLimits = Object.freeze({ values: 2_000_000, depth: 64 })

export type ReadJson = { readonly value: unknown } | { readonly refusal: string }

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const openers = [0x5b, 0x7b]
const closers = [0x5d, 0x7d]

/** Looked at before it is parsed: how many values, and how deep. What is no JSON shows when it is parsed. */
const shapeOf = (body: Buffer): { readonly values: number; readonly depth: number } => {
  let values = 1
  let depth = 0
  let deepest = 0
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at] as number
    if (byte === quote) at = endOfText(body, at)
    else if (byte === comma) values += 1
    else if (openers.includes(byte)) {
      values += 1
      depth += 1
      if (depth > deepest) deepest = depth
    } else if (closers.includes(byte)) depth -= 1
  }
  return { values, depth: deepest }
}

/** The quote that ends the text which begins here. */
const endOfText = (body: Buffer, from: number): number => {
  for (let at = body.indexOf(quote, from + 1); at !== -1; at = body.indexOf(quote, at + 1)) {
    let slashes = 0
    while (body[at - 1 - slashes] === backslash) slashes += 1
    if (slashes % 2 === 0) return at
  }
  return body.length
}

/** The value of an answer's body, or why it is none that we take. */
export const readBoundedJson = (body: Buffer): ReadJson => {
  const { values, depth } = shapeOf(body)
  if (values > jsonLimits.values) return { refusal: `it holds more than ${jsonLimits.values} values` }
  if (depth > jsonLimits.depth) return { refusal: `it is deeper than ${jsonLimits.depth} levels` }
  try {
    return { value: JSON.parse(body.toString('utf8')) as unknown }
  } catch {
    return { refusal: 'it is no JSON' }
  }
}
