const opensFunction = /(=>|\bfunction\b.*) \{$/
const opensMethod =
  /^\s+(?:(?:async|static|override|get|set)\s+)*(?!(?:if|for|while|switch|catch)\b)[\w#]+(?:<.*>)?\(.*\{$/
const closesSignature = /^\s*\)(?:: .*)? \{$/
/** Groups of tests are as long as what they group. */
const groups = /\b(describe|onEachBell|onEachFleet)\b/

/**
 * Functions with more lines than allowed, as `path:line has n lines`. Goes by indentation, which the
 * formatter guarantees: a body ends at the first closing brace as far left as the line that opened it.
 */
export const longFunctions = (path: string, text: string, max: number): string[] => {
  const lines = text.split('\n')
  return lines.flatMap((line, index) => {
    if (
      groups.test(line) ||
      !(opensFunction.test(line) || opensMethod.test(line) || closesSignature.test(line))
    )
      return []
    const indent = line.length - line.trimStart().length
    const closing = new RegExp(`^ {${indent}}\\}`)
    const length = lines.slice(index + 1).findIndex((other) => closing.test(other)) + 2
    return length > max ? [`${path}:${index + 1} has ${length} lines`] : []
  })
}
