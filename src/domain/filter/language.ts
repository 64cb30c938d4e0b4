import { Environment } from '@marcbachmann/cel-js'
import type { RE2JS } from 're2js'
import { type FilterKind, filterFields, hasTags, itemTypes, renamedFields } from './fields.ts'
import { spend } from './meter.ts'
import { itemClasses } from './view.ts'

/** Bounds on what a filter may be. Its text is at most {@link maxFilterLength} long. */
const structure = {
  maxAstNodes: 1_000,
  maxDepth: 40,
  maxListElements: 256,
  maxMapEntries: 64,
  maxCallArguments: 8,
}

export const maxFilterLength = 4_096
/** Each may cache some megabytes about texts. */
export const maxPatterns = 32
export const maxPatternLength = 512
/** Instructions of a compiled pattern: matching takes at most this many steps per character. */
export const maxPatternSize = 2_000
/** The limit for all patterns of a new filter; compiling this many takes about five milliseconds. */
export const maxPatternsSize = 4_000

/**
 * The `matches` of the language backtracks, and a hostile pattern would never end. It is replaced in the text before
 * parsing by a name of the same length, so that positions stay correct.
 */
export const safeMatches = 're2find'

/** The functions of the language that filters may use, by name. Others could build large values or reach types. */
export const allowedFunctions = [
  'all',
  'contains',
  'double',
  'duration',
  'endsWith',
  'exists',
  'exists_one',
  'filter',
  'has',
  'has_tag',
  'indexOf',
  'int',
  'lowerAscii',
  'map',
  'matches',
  'matches_tag',
  'path_base',
  'path_dir',
  'size',
  'startsWith',
  'string',
  'substring',
  'timestamp',
  'trim',
  'upperAscii',
] as const

/** Patterns by their text. They live as long as their filter, because each caches what it learned about texts. */
export type Patterns = ReadonlyMap<string, RE2JS>

interface Subject {
  readonly tags: Readonly<Record<string, readonly string[]>>
  readonly patterns: Patterns
}

const nobody: Subject = { tags: {}, patterns: new Map() }

/** The subject of the running evaluation besides its arguments: evaluation is synchronous, so there is only one. */
let subject = nobody

export const withSubject = <T>(of: Subject, work: () => T): T => {
  subject = of
  try {
    return work()
  } finally {
    subject = nobody
  }
}

const anyTag = (category: string, holds: (tag: string) => boolean): boolean => {
  const { tags } = subject
  const among = (names: readonly string[]): boolean => {
    spend(names.length + 1)
    return names.some(holds)
  }
  if (category === '*') return Object.values(tags).some(among)
  return Object.hasOwn(tags, category) && among(tags[category] ?? [])
}

const trimmed = (path: string): string => {
  let end = path.length
  while (end > 1 && path[end - 1] === '/') end -= 1
  return path.slice(0, end)
}

/** The last part: `web-01` of `/Paris/vm/shop/web-01`. */
export const pathBase = (path: string): string => {
  const text = trimmed(path)
  return text === '/' ? '/' : text.slice(text.lastIndexOf('/') + 1)
}

/** What comes before the last part: `/Paris/vm/shop` of `/Paris/vm/shop/web-01`. */
export const pathDir = (path: string): string => {
  const text = trimmed(path)
  const at = text.lastIndexOf('/')
  if (at < 0) return '.'
  return at === 0 ? '/' : trimmed(text.slice(0, at))
}

const register = (kind: FilterKind): Environment => {
  const environment = new Environment({ limits: structure })
  for (const [name, fields] of Object.entries(itemTypes)) {
    const types = Object.fromEntries(Object.entries(fields).map(([field, { type }]) => [field, type]))
    environment.registerType(name, { ctor: itemClasses[name as keyof typeof itemClasses], fields: types })
  }
  for (const [name, { type }] of Object.entries(filterFields[kind]))
    environment.registerVariable(renamedFields.get(name) ?? name, type)
  environment
    .registerFunction('path_base(string): string', pathBase)
    .registerFunction('path_dir(string): string', pathDir)
    .registerFunction(`string.${safeMatches}(string): bool`, (text: string, pattern: string) => {
      const compiled = subject.patterns.get(pattern)
      // Impossible: an unchecked pattern does not compile into a filter.
      if (!compiled) throw new Error('This pattern was not written out.')
      return compiled.test(text)
    })
  if (!hasTags(kind)) return environment
  return environment
    .registerFunction('has_tag(string, string): bool', (category: string, tag: string) =>
      anyTag(category, (name) => name === tag),
    )
    .registerFunction('matches_tag(string, string): bool', (category: string, part: string) =>
      anyTag(category, (name) => name.includes(part)),
    )
}

export const languages: Readonly<Record<FilterKind, Environment>> = {
  instance: register('instance'),
  network: register('network'),
  entry: register('entry'),
  machine: register('machine'),
  operation: register('operation'),
}
