import { expect, test } from 'vitest'
import { codeFiles, importsOf, readSource, withoutComments } from './sources.ts'

const domain = codeFiles.filter((path) => path.startsWith('src/domain/'))

/** Ways to learn the time, to throw dice, or to reach anything outside. */
const impure =
  /\bDate\.now\b|\bnew Date\(\)|\bperformance\.|\bMath\.random\b|\bset(?:Timeout|Interval|Immediate)\b|\bprocess\.|\bfetch\(|\bcrypto\.|\bimport\(/

// promise: pure-decisions
test('the domain reads no clock, throws no dice and does no I/O: time and chance are arguments', () => {
  expect(domain.length).toBeGreaterThan(10)
  expect(domain.filter((path) => impure.test(withoutComments(readSource(path))))).toEqual([])
})

/** Schemas, digests and the language of filters: nothing that reaches outside. */
const allowed = ['@marcbachmann/cel-js', 'node:crypto', 're2js', 'zod']

test('the domain imports no package but those that only compute', () => {
  const packages = domain.flatMap((path) =>
    importsOf(readSource(path)).filter((name) => !name.startsWith('.')),
  )
  expect([...new Set(packages)].sort()).toEqual(allowed)
})

test.each(['const now = Date.now()', 'at = new Date()', 'Math.random() < 0.5', 'setTimeout(go, 5)'])(
  'a line such as %s would be found',
  (line) => {
    expect(impure.test(line)).toBe(true)
  },
)

test('a date that is made of an argument is pure', () => {
  expect(impure.test('const since = new Date(Math.max(a, b))')).toBe(false)
})
