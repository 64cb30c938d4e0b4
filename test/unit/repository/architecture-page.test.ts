import { expect, test } from 'vitest'
import { readSource, repositoryFiles } from './sources.ts'

/** The rows of the first table below a heading, without the table's own head. */
const rowsBelow = (path: string, heading: string): string[] => {
  const [, below] = readSource(path).split(`\n## ${heading}\n`)
  if (below === undefined) throw new Error(`${path} has no heading "${heading}".`)
  const table = /(?:^\|.*\n)+/m.exec(below)?.[0] ?? ''
  return table.trimEnd().split('\n').slice(2)
}

interface NamedTest {
  readonly path: string
  readonly name: string
}

/** What a row names: a file in backticks, then its tests in quotes; "…" stands for what differs from case to case. */
const testsIn = (row: string): NamedTest[] =>
  [...row.matchAll(/`(test\/[^`]+)`((?:[ ,]+"[^"]+")+)/g)].flatMap(([, path = '', names = '']) =>
    [...names.matchAll(/"([^"]+)"/g)].map(([, name = '']) => ({ path, name })),
  )

const hasTest = (source: string, name: string): boolean => {
  const words = name.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`['"\`]${words.join('[^\\n]*')}['"\`]`).test(source)
}

const page = 'docs/architecture.md'
const rows = rowsBelow(page, 'What breaks, and who heals it')

test('every row of what breaks, and who heals it, names a test', () => {
  expect(rows.length).toBeGreaterThan(10)
  expect(rows.filter((row) => testsIn(row).length === 0)).toEqual([])
})

test('every test that a row of what breaks names exists', () => {
  const known = new Set(repositoryFiles)
  const missing = rows
    .flatMap(testsIn)
    .filter((named) => !known.has(named.path) || !hasTest(readSource(named.path), named.name))
  expect(missing).toEqual([])
})

test('a test is found by its name, in pieces where it differs from case to case, and not by less', () => {
  const source = "test('one thing holds', () => {})\n  test(`killed at $point it goes on`, () => {})"
  expect(hasTest(source, 'one thing holds')).toBe(true)
  expect(hasTest(source, 'killed … it goes on')).toBe(true)
  expect(hasTest(source, 'one thing')).toBe(false)
  expect(testsIn('| a | `test/a.test.ts` "b c", "d" |')).toEqual([
    { path: 'test/a.test.ts', name: 'b c' },
    { path: 'test/a.test.ts', name: 'd' },
  ])
})
