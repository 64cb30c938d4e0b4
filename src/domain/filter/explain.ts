import { type FilterKind, filterFields, hasTags, itemTypes } from './fields.ts'
import { FilterError } from './filter-error.ts'
import { allowedFunctions, safeMatches } from './language.ts'
import { nearestName } from './nearest-name.ts'

/** The library's description of an error. */
export interface LibraryError {
  readonly code?: string
  readonly summary?: string
  readonly range?: { readonly start: number; readonly end: number }
}

const symbols: Readonly<Record<string, string>> = {
  EOF: 'the end',
  NUMBER: 'a number',
  STRING: 'a text',
  BOOLEAN: 'true or false',
  NULL: 'null',
  IDENTIFIER: 'a name',
  PLUS: '"+"',
  MINUS: '"-"',
  MULTIPLY: '"*"',
  DIVIDE: '"/"',
  MODULO: '"%"',
  EQ: '"=="',
  NE: '"!="',
  LT: '"<"',
  LE: '"<="',
  GT: '">"',
  GE: '">="',
  AND: '"&&"',
  OR: '"||"',
  NOT: '"!"',
  IN: '"in"',
  LPAREN: '"("',
  RPAREN: '")"',
  LBRACKET: '"["',
  RBRACKET: '"]"',
  LBRACE: '"{"',
  RBRACE: '"}"',
  DOT: '"."',
  COMMA: '","',
  COLON: '":"',
  QUESTION: '"?"',
}

const plain = (text: string): string => text.replace(/\b[A-Z]{2,}\b/g, (token) => symbols[token] ?? token)

/** How to write text that looks like input for a search box: such text is never taken for a filter. */
const bareText = (text: string): string | undefined => {
  const word = text.trim()
  if (!/^[\w./* @:~-]+$/.test(word) || /^(true|false|\d+)$/.test(word)) return undefined
  if (/\s(in|and|or|not)\s/i.test(word)) return undefined
  const quoted = JSON.stringify(word.replaceAll('*', ''))
  return word.startsWith('/')
    ? `To find what is under a path, write location.startsWith(${quoted}).`
    : `To find a part of a name, write name.contains(${quoted}).`
}

const unknownName = (name: string, known: readonly string[], what: string) => {
  const nearest = nearestName(name, known)
  return {
    summary: `There is no ${what} "${name}"`,
    expected: nearest === undefined ? '' : nearest,
    remedy:
      (nearest === undefined ? '' : `Did you mean ${nearest}? `) +
      `Known are ${[...known].sort().join(', ')}.`,
  }
}

const operators: readonly [RegExp, string, string][] = [
  [/^=(?!=)/, 'Two "=" compare', '"=="'],
  [/^&(?!&)/, 'A single "&" means nothing here', '"&&"'],
  [/^\|(?!\|)/, 'A single "|" means nothing here', '"||"'],
]

const syntaxProblem = (text: string, error: LibraryError, position: number) => {
  const summary = plain(error.summary ?? 'It cannot be read')
  const wanted = /^Expected (.+), got (.+)$/.exec(summary)
  if (wanted) return { summary: `${wanted[2]} stands where ${wanted[1]} should`, expected: wanted[1] ?? '' }
  const token = /^Unexpected token: (.+)$/.exec(summary)
  if (token) {
    // After a complete value an operator is missing, otherwise a value.
    const after = /[\w)\]"'}]\s*$/.test(text.slice(0, position)) ? 'an operator such as == or &&' : 'a value'
    return { summary: `${token[1]} stands where ${after} should`, expected: after }
  }
  const operator = operators.find(([pattern]) => pattern.test(text.slice(position)))
  if (operator) return { summary: operator[1], expected: operator[2] }
  return { summary, expected: '' }
}

/** Words of other languages that people try first. */
const otherWords: Readonly<Record<string, string>> = {
  and: '&&',
  or: '||',
  like: '.contains("…") or .matches("…")',
}

const wordAt = (text: string, position: number): string => /^[\w]*/.exec(text.slice(position))?.[0] ?? ''

type Described = { summary: string; expected: string; remedy: string }

const functionProblem = (kind: FilterKind, name: string): Described => {
  const known = allowedFunctions.filter((each) => hasTags(kind) || !each.endsWith('_tag'))
  return unknownName(name, known, 'function')
}

const describe = (text: string, kind: FilterKind, error: LibraryError, position: number): Described => {
  const summary = (error.summary ?? 'It cannot be read').replaceAll(safeMatches, 'matches')
  const name = /: ([\w]+)$/.exec(summary)?.[1] ?? ''
  switch (error.code ?? '') {
    case 'unknown_variable':
      return unknownName(name, Object.keys(filterFields[kind]), 'field')
    case 'no_such_key':
      return unknownName(
        name,
        [...new Set(Object.values(itemTypes).flatMap((fields) => Object.keys(fields)))],
        'field',
      )
    case 'no_such_function':
      return functionProblem(kind, summary)
    case 'no_matching_overload': {
      const called = /'(?:[^'(]*\.)?([\w]+)\(/.exec(summary)?.[1] ?? ''
      if (!(allowedFunctions as readonly string[]).includes(called)) return functionProblem(kind, called)
      if (!hasTags(kind) && called.endsWith('_tag')) return functionProblem(kind, called)
      return {
        summary: `${called} does not take that: ${summary}`,
        expected: '',
        remedy: 'See docs/filters.md.',
      }
    }
    case 'no_such_overload': {
      const types = summary.replace(/^no such overload: /, '')
      const remedy = 'Compare texts with texts ("4"), numbers with numbers (4).'
      return { summary: `These cannot go together: ${types}`, expected: '', remedy }
    }
    case 'limit_exceeded':
      return { summary, expected: '', remedy: 'Write a simpler filter.' }
    default: {
      const word = wordAt(text, position).toLowerCase()
      const ours = Object.hasOwn(otherWords, word) ? otherWords[word] : undefined
      if (ours !== undefined)
        return { summary: `"${word}" is no word of this language`, expected: ours, remedy: `Write ${ours}.` }
      const remedy = 'See docs/filters.md for how filters are written.'
      return { ...syntaxProblem(text, error, position), remedy }
    }
  }
}

/** The library's error as one that tells a person what to write instead. */
export const explain = (text: string, kind: FilterKind, error: LibraryError): FilterError => {
  const position = error.range?.start ?? 0
  const described = describe(text, kind, error, position)
  const remedy = bareText(text) ?? described.remedy
  return new FilterError(text, { ...described, remedy, position })
}
