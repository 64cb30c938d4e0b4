import type { EditProblem } from './batch-edit.ts'
import type { BatchConstraint } from './batch-settings.ts'

const quoted = /"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'/gs

/** The expression with normalised spaces between words. */
const wordsOf = (expression: string): string => {
  const texts: string[] = []
  const words = expression.replace(quoted, (text) => {
    texts.push(text)
    return '""'
  })
  return JSON.stringify([words.replace(/\s+/g, ' ').replace(/(?<=\W) | (?=\W)|^ | $/g, ''), ...texts])
}

/**
 * Refuses constraints with the same expression: only the last match counts, so the author must have meant something
 * else. Stored constraints are accepted until they are changed.
 */
export const checkTwins = (
  constraints: readonly BatchConstraint[],
  before: readonly BatchConstraint[],
): EditProblem[] => {
  if (JSON.stringify(constraints) === JSON.stringify(before)) return []
  const words = constraints.map(({ include_expression }) => wordsOf(include_expression))
  return words.flatMap((one, at): EditProblem[] => {
    const first = words.indexOf(one)
    if (first === at) return []
    return [
      {
        field: `constraints.${at}.include_expression`,
        message: `The constraint "${constraints[first]?.name}" has the same expression: only the last one would ever count. Remove one of the two.`,
      },
    ]
  })
}
