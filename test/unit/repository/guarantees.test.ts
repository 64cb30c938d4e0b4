import { expect, test } from 'vitest'
import { describeGuarantees, fillGuaranteesPage } from '../../support/guarantees/describe-guarantees.ts'
import { promiseChapters } from '../../support/guarantees/promises.ts'
import { taggedTests } from '../../support/guarantees/tagged-tests.ts'
import { readSource, repositoryFiles } from './sources.ts'

const files = repositoryFiles
  .filter((path) => path.endsWith('.test.ts'))
  .map((path) => ({ path, text: readSource(path) }))

test('docs/guarantees.md has every promise with the tests that are tagged with it', () => {
  const page = readSource('docs/guarantees.md')
  expect(promiseChapters.flatMap(({ promises }) => Object.keys(promises)).length).toBeGreaterThan(90)
  expect(fillGuaranteesPage(page, files) === page, 'run `npm run docs:guarantees`').toBe(true)
})

const chapters = [
  { title: 'Of sheep', about: 'Sheep.', promises: { 'all-here': 'None is lost.', calm: 'None runs.' } },
]
const file = (...lines: string[]) => ({ path: 'test/unit/sheep.test.ts', text: lines.join('\n') })
const tagged = ['// promise: all-here', '// promise: calm', "test('a | b stays', () => {})"]

test('a promise is written with the file and the name of each of its tests', () => {
  const page = describeGuarantees(
    [file(...tagged, '// promise: calm', ['test(`n $', '{n}`, () => {})'].join(''))],
    chapters,
  )
  expect(page.split('\n').slice(-2)).toEqual([
    '| None is lost. | [unit/sheep.test.ts](../test/unit/sheep.test.ts): "a \\| b stays" |',
    '| None runs. | [unit/sheep.test.ts](../test/unit/sheep.test.ts): "a \\| b stays", "n …" |',
  ])
})

test('a promise without a test, an unknown promise and an id that is given twice are refused', () => {
  const lost = file('// promise: all-here', "test('a', () => {})")
  expect(() => describeGuarantees([lost], chapters)).toThrow('No test is tagged with calm.')
  const unknown = file(...tagged, '// promise: wool', "test('b', () => {})")
  expect(() => describeGuarantees([unknown], chapters)).toThrow('promises.ts has no promise "wool".')
  expect(() => describeGuarantees([file(...tagged)], [...chapters, ...chapters])).toThrow('the same id')
})

test('a tag names the test directly below it, in whatever form that is written', () => {
  const names = (...lines: string[]) =>
    taggedTests('x.test.ts', ['// promise: calm', ...lines].join('\n')).map(({ title }) => title)
  expect(names("  test('one', () => {})")).toEqual(['one'])
  expect(names('  test(', "    'it\\'s two',", '    () => {},', '  )')).toEqual(["it's two"])
  expect(names("test.each(['a', 'b)'].map((x) => [x, f(x)]))('three %s', () => {})")).toEqual(['three %s'])
  expect(names('test.each([', "  [f('('), 1], // the (first", "])('four', async () => {})")).toEqual(['four'])
  expect(names("law('five', (given) => {})")).toEqual(['five'])
})

test.each([
  ['no test', '// promise: calm', "const a = 'b'"],
  ['an empty line', '// promise: calm', '', "test('one', () => {})"],
  ['a test with a computed name', '// promise: calm', 'test(name, () => {})'],
])('a tag above %s is refused, and not overlooked', (_what, ...lines) => {
  expect(() => taggedTests('x.test.ts', lines.join('\n'))).toThrow('no test is directly below "calm"')
})

test.each([
  '// Promise: calm',
  '//promise: calm',
  '/* promise: calm */',
  '// promise: calm, all-here',
  ['} //', 'promise: calm'].join(' '),
])('what was probably meant as a tag is refused, and not overlooked: %s', (line) => {
  expect(() => taggedTests('x.test.ts', `${line}\ntest('one', () => {})`)).toThrow('write a tag as')
})
