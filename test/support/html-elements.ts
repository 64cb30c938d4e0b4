/** An element of a served page, as a browser would make it. */
export interface SeenElement {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
}

export interface SeenHtml {
  readonly elements: readonly SeenElement[]
  /** All that is read on the page; what a person may send back in a form is not among it. */
  readonly text: string
}

const tag = /<(\/?)([a-z!][a-z0-9-]*)((?:\s+[a-z-]+(?:="[^"<]*")?)*)\s*\/?>/gi
const attribute = /\s+([a-z-]+)(?:="([^"]*)")?/gi

const entities: Readonly<Record<string, string>> = {
  lt: '<',
  gt: '>',
  amp: '&',
  quot: '"',
  apos: "'",
  nbsp: '\u00a0',
}

const decoded = (text: string): string =>
  text.replace(
    /&(?:#x([0-9a-f]+)|#(\d+)|([a-z]+));/gi,
    (whole, hex?: string, decimal?: string, name?: string) => {
      if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16))
      if (decimal !== undefined) return String.fromCodePoint(Number(decimal))
      return entities[name?.toLowerCase() ?? ''] ?? whole
    },
  )

/**
 * Reads a page as strictly as we write it: every `<` begins a tag of ours, every attribute is quoted. What is not so
 * throws: a browser would make something of it that nobody meant.
 */
export const readHtml = (html: string): SeenHtml => {
  const elements: SeenElement[] = []
  let text = ''
  let at = 0
  let typed = false
  for (const found of html.matchAll(tag)) {
    const [whole, closing, name = '', rest = ''] = found
    if (!typed) text += plain(html.slice(at, found.index))
    at = found.index + whole.length
    typed = name === 'textarea' && closing === ''
    if (closing !== '' || name.startsWith('!')) continue
    const attributes: Record<string, string> = {}
    for (const [, key = '', value = ''] of rest.matchAll(attribute)) attributes[key] = decoded(value)
    elements.push({ name, attributes })
    // A screen reader reads these, and a mouse shows them.
    for (const read of ['title', 'aria-label', 'aria-valuetext', 'placeholder'])
      if (attributes[read] !== undefined) text += ` ${attributes[read]} `
  }
  return { elements, text: text + plain(html.slice(at)) }
}

const plain = (between: string): string => {
  if (between.includes('<'))
    throw new Error(`This is no tag of ours: ${between.slice(between.indexOf('<'), 200)}`)
  return decoded(between)
}
