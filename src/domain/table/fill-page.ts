const marks = (name: string): readonly [begin: string, end: string] => [
  `<!-- made of the tables: ${name} -->`,
  `<!-- end: ${name} -->`,
]

/** A page with its generated parts up to date; the text around them stays. */
export const fillPage = (page: string, parts: Readonly<Record<string, string>>): string =>
  Object.entries(parts).reduce((text, [name, made]) => {
    const [begin, end] = marks(name)
    const [from, to] = [text.indexOf(begin), text.indexOf(end)]
    if (from < 0 || to < from) throw new Error(`The page has no part "${begin}" … "${end}".`)
    return `${text.slice(0, from + begin.length)}\n\n${made}\n\n${text.slice(to)}`
  }, page)
