/** Why a filter cannot be used, and where in its text. */
export interface FilterProblem {
  /** What is wrong, without its position. */
  readonly summary: string
  /** Index into the text, from 0. */
  readonly position: number
  /** What would fit there; empty when unknown. */
  readonly expected: string
  readonly remedy: string
  /** Not given: the filter is invalid. */
  readonly code?: FilterProblemCode
}

export type FilterProblemCode = 'filter-invalid' | 'filter-too-expensive'

const lineAndColumn = (text: string, position: number) => {
  const lines = text.slice(0, position).split('\n')
  // Counts characters, not UTF-16 units.
  return { line: lines.length, column: [...(lines.at(-1) ?? '')].length + 1 }
}

const maxExcerpt = 100

/** The line with a caret below the character, cut around it when it is long. */
const drawPointer = (text: string, position: number): string => {
  const from = text.lastIndexOf('\n', position - 1) + 1
  const to = text.indexOf('\n', position)
  const line = text.slice(from, to < 0 ? undefined : to)
  const at = position - from
  const cut = Math.max(0, at - maxExcerpt / 2)
  const excerpt = line
    .slice(cut, cut + maxExcerpt)
    .toWellFormed()
    .replaceAll('\t', ' ')
  return `${excerpt}\n${' '.repeat([...line.slice(cut, at)].length)}^`
}

/** A filter that cannot be compiled. The API returns every field of it. */
export class FilterError extends Error {
  readonly code: FilterProblemCode
  readonly position: number
  readonly line: number
  readonly column: number
  readonly expected: string
  readonly remedy: string
  /** The line and a caret under the character, for a terminal. */
  readonly pointer: string

  constructor(text: string, problem: FilterProblem) {
    const position = Math.max(0, Math.min(problem.position, text.length))
    const { line, column } = lineAndColumn(text, position)
    super(`${problem.summary} (line ${line}, column ${column})`)
    this.name = 'FilterError'
    this.code = problem.code ?? 'filter-invalid'
    this.position = position
    this.line = line
    this.column = column
    this.expected = problem.expected
    this.remedy = problem.remedy
    this.pointer = drawPointer(text, position)
  }
}

/** Refuses a filter because of something at a place in its text. */
export type Fail = (problem: {
  readonly at: number
  readonly summary: string
  readonly expected?: string
  readonly remedy: string
  readonly code?: FilterProblemCode
}) => never

export const failIn =
  (text: string): Fail =>
  ({ at, expected = '', ...problem }) => {
    throw new FilterError(text, { ...problem, position: at, expected })
  }
