/** The name under which a heading can be linked to, as forges make it from the heading's text. */
export const anchorOf = (heading: string): string =>
  heading
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-')

/** All that can be linked to in a page of Markdown. Headings in fenced code are none. */
export const anchorsOf = (page: string): Set<string> => {
  const text = page.replace(/^```[\s\S]*?^```/gm, '')
  const anchors = new Set([...text.matchAll(/<a id="([^"]+)">/g)].map(([, id = '']) => id))
  for (const [, heading = ''] of text.matchAll(/^#{1,6} (.+)$/gm)) {
    const anchor = anchorOf(heading.trim())
    // A second heading with the same text gets a number.
    for (let copy = 0; ; copy += 1) {
      const name = copy === 0 ? anchor : `${anchor}-${copy}`
      if (anchors.has(name)) continue
      anchors.add(name)
      break
    }
  }
  return anchors
}
