export interface TaggedTest {
  readonly promise: string
  readonly title: string
}

const tag = /^\s*\/\/ promise: (\S+)$/
/** What was probably meant as a tag; in quotes it is the text of a test. */
const mention = /(?<!['"`])\/[/*]+ *promises? *:/i

/**
 * The tests that a comment `// promise: <id>` names, in the order of the file. The comment is on a line of its own
 * directly above the test; several promises take several lines. Throws when a tag has no test below it, or is
 * written in another form: it would be overlooked.
 */
export const taggedTests = (path: string, text: string): TaggedTest[] => {
  const lines = text.split('\n')
  return lines.flatMap((line, index) => {
    const promise = tag.exec(line)?.[1]
    if (promise === undefined) {
      if (mention.test(line))
        throw new Error(`${path}:${index + 1}: write a tag as "// promise: <id>", alone.`)
      return []
    }
    const below = lines.slice(index + 1).findIndex((other) => !tag.test(other)) + index + 1
    const title = titleOf(lines.slice(below).join('\n'))
    if (title === undefined) throw new Error(`${path}:${index + 1}: no test is directly below "${promise}".`)
    return [{ promise, title }]
  })
}

/** The name of the test whose call a text begins with: the first argument of the call, or of the call of its result. */
const titleOf = (text: string): string | undefined => {
  const callee = /^ *[a-zA-Z.]+(?=\()/.exec(text)?.[0]
  if (callee === undefined) return undefined
  return firstString(text, callee.length) ?? firstString(text, endOfCall(text, callee.length))
}

const firstString = (text: string, at: number): string | undefined => {
  const [, , title] = /^\(\s*(['"`])((?:\\.|(?!\1)[^\\\n])+)\1,/.exec(text.slice(at)) ?? []
  return title?.replace(/\\(['"`])/g, '$1')
}

/** Strings and comments, which may hold brackets, and brackets. */
const pieces = /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|\/\/[^\n]*|\/\*[\s\S]*?\*\/|[()]/g

const endOfCall = (text: string, at: number): number => {
  let depth = 0
  for (const { 0: piece, index } of text.slice(at).matchAll(pieces)) {
    if (piece === '(') depth += 1
    if (piece === ')') depth -= 1
    if (depth === 0) return at + index + 1
  }
  return text.length
}
