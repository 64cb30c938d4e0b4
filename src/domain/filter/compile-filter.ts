import type { ASTNode, ParseResult } from '@marcbachmann/cel-js'
import { asLoop, childrenOf, stepsOutsideLoops, usualSteps } from './cost.ts'
import { explain, type LibraryError } from './explain.ts'
import { type FilterKind, renamedFields } from './fields.ts'
import { type Fail, failIn } from './filter-error.ts'
import { checkKnownValues } from './known-values.ts'
import {
  allowedFunctions,
  languages,
  maxFilterLength,
  maxPatternsSize,
  type Patterns,
  safeMatches,
  withSubject,
} from './language.ts'
import { maxSteps, metered, spend } from './meter.ts'
import { meter } from './metering.ts'
import { PatternBook } from './patterns.ts'
import type { FilterView } from './view.ts'

/** The answer of a filter for one thing. An error concerns that thing, not the filter. */
export type FilterOutcome = { readonly match: boolean } | { readonly error: string }

export interface CompiledFilter {
  readonly text: string
  readonly kind: FilterKind
  run(view: FilterView): FilterOutcome
}

const checkText = (text: string, fail: Fail): void => {
  if (text.trim() === '')
    fail({ at: 0, summary: 'The filter is empty', remedy: 'Write a condition, or leave the filter out.' })
  if (text.length > maxFilterLength)
    fail({
      at: maxFilterLength,
      summary: `The filter has ${text.length} characters; ${maxFilterLength} are allowed`,
      remedy: 'Shorten it, for example by one pattern in place of many names.',
    })
  const bad = text.search(/\0|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/)
  if (bad >= 0)
    fail({
      at: bad,
      summary: 'There is a character that is none',
      remedy: 'Remove NUL and unpaired surrogates.',
    })
}

const nodesOf = (root: ASTNode): ASTNode[] => {
  const found = [root]
  for (let at = 0; at < found.length; at += 1) found.push(...childrenOf(found[at]!))
  return found
}

const parse = (text: string, kind: FilterKind): ParseResult => {
  try {
    return languages[kind].parse(text)
  } catch (error) {
    throw explain(text, kind, error as LibraryError)
  }
}

/** Replaces a name by another of the same length. */
const replaceAt = (text: string, at: number, name: string): string =>
  text.slice(0, at) + name + text.slice(at + name.length)

/** The position of a method's name in the text. */
const nameOfMethod = (text: string, node: ASTNode & { op: 'rcall' }, fail: Fail): number => {
  const [name, receiver, args] = node.args
  const to = args[0]?.start ?? node.end
  const between = text.slice(receiver.end, to)
  const at = between.indexOf(name)
  if (at < 0 || between.includes('//') || between.indexOf(name, at + 1) >= 0)
    fail({
      at: receiver.end,
      summary: `Something stands between the value and .${name}(`,
      remedy: 'Remove it.',
    })
  return receiver.end + at
}

/** Refuses constructs of the language that filters may not use, and returns the text with safe patterns. */
const secure = (text: string, kind: FilterKind, book: PatternBook, fail: Fail): string => {
  let safe = text
  const nodes = nodesOf(parse(text, kind).ast)
  checkKnownValues(nodes, kind, fail)
  for (const node of nodes) {
    const renamed = node.op === 'id' && kind === 'network' ? renamedFields.get(node.args) : undefined
    if (renamed !== undefined) safe = replaceAt(safe, node.start, renamed)
    if (node.op !== 'call' && node.op !== 'rcall') continue
    const name = node.args[0]
    if (name === safeMatches || !(allowedFunctions as readonly string[]).includes(name))
      throw explain(text, kind, {
        code: 'no_such_function',
        summary: name,
        range: { start: node.op === 'call' ? node.start : node.args[1].end, end: node.end },
      })
    if (node.op !== 'rcall' || name !== 'matches') continue
    const at = nameOfMethod(text, node, fail)
    book.add(node)
    safe = replaceAt(safe, at, safeMatches)
  }
  return safe
}

const checkDepth = (node: ASTNode, depth: number, fail: Fail): void => {
  const loop = asLoop(node) !== undefined
  if (loop && depth === 2)
    fail({
      at: node.start,
      summary: 'Three lists are gone through one inside the other',
      remedy: 'Two at most: the time would be the product of all sizes.',
    })
  for (const child of childrenOf(node)) checkDepth(child, loop ? depth + 1 : depth, fail)
}

const checkTypes = (text: string, kind: FilterKind, parsed: ParseResult, fail: Fail): void => {
  const checked = parsed.check()
  if (!checked.valid) throw explain(text, kind, checked.error as LibraryError)
  if (checked.type !== 'bool' && !checked.type?.startsWith('dyn'))
    fail({
      at: 0,
      summary: `A filter answers true or false; this one is a ${checked.type}`,
      expected: 'a condition',
      remedy: 'Compare it with something, such as cpus > 4.',
    })
}

interface Program {
  readonly parsed: ParseResult
  readonly patterns: Patterns
  /** Steps outside loops. */
  readonly steps: number
}

const outcome = ({ parsed, patterns, steps }: Program, view: FilterView): FilterOutcome => {
  try {
    const value: unknown = metered(() => {
      spend(steps)
      return withSubject({ tags: view.tags, patterns }, () => parsed(view.values))
    })
    return typeof value === 'boolean' ? { match: value } : { error: 'The answer is neither true nor false.' }
  } catch (error) {
    const { summary, message } = error as LibraryError & { message?: string }
    return { error: (summary ?? message ?? 'It failed.').replaceAll(safeMatches, 'matches').slice(0, 500) }
  }
}

interface CompileLimits {
  /** Steps on an ordinary thing. */
  readonly steps: number
  /** Instructions of all patterns together: compiling them takes time, whatever they are matched against. */
  readonly patterns: number
}

const compile = (text: string, kind: FilterKind, limits: CompileLimits): CompiledFilter => {
  const fail = failIn(text)
  checkText(text, fail)
  const book = new PatternBook(fail, limits.patterns)
  const parsed = parse(secure(text, kind, book, fail), kind)
  checkDepth(parsed.ast, 0, fail)
  checkTypes(text, kind, parsed, fail)
  const sizeOf = (node: ASTNode) =>
    node.op === 'rcall' && node.args[0] === safeMatches ? book.sizeAt(node.start) : 0
  if (usualSteps(parsed.ast, sizeOf) > limits.steps)
    fail({
      at: 0,
      summary: 'The filter has too much to do, even for an ordinary instance',
      remedy:
        'Take out lists inside lists, time functions inside lists, and patterns; ask of one field at a time.',
      code: 'filter-too-expensive',
    })
  meter(parsed.ast, sizeOf)
  const program = { parsed, patterns: book.patterns, steps: stepsOutsideLoops(parsed.ast) }
  return {
    text,
    kind,
    run: (view) => {
      if (view.kind !== kind) throw new Error(`A filter over ${kind}s was asked about a ${view.kind}.`)
      return outcome(program, view)
    },
  }
}

/**
 * Compiles a filter once; the result can be evaluated any number of times. Throws {@link FilterError}. A filter above
 * today's budget fails on each thing instead: it was stored when more was allowed.
 */
export const compileFilter = (text: string, kind: FilterKind): CompiledFilter =>
  compile(text, kind, { steps: Number.POSITIVE_INFINITY, patterns: Number.POSITIVE_INFINITY })

/** The same for a new filter, which can still be refused. */
export const compileNewFilter = (text: string, kind: FilterKind): CompiledFilter =>
  compile(text, kind, { steps: maxSteps, patterns: maxPatternsSize })
