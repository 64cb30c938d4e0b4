import { expect, test } from 'vitest'
import { placesOf } from '../../mutants/mutant.ts'
import { mutants } from '../../mutants/mutants.ts'

test('every mutant finds its snippet exactly once, and the test files that catch it', () => {
  expect(mutants.flatMap(placesOf)).toEqual([])
})

test('a snippet that is gone, or is there twice, is told with the name of its mutant', () => {
  const file = 'test/unit/repository/mutants.test.ts'
  const of = (find: string) => placesOf({ name: 'M', law: 1, file, find, replace: '', tests: [file] })
  expect(of(['import { mutants', '}'].join(' '))).toEqual([])
  expect(of(['no', 'such', 'line'].join(' '))).toEqual([`"M": its snippet is 0 times in ${file}, not once.`])
  expect(of('placesOf')[0]).toContain('"M": its snippet is')
})

test('every mutant changes something, has a name of its own, and is caught by the push suite', () => {
  expect(mutants.filter(({ find, replace }) => find === replace)).toEqual([])
  expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length)
  const push = /^test\/(unit|api|integration|contract|crash|simulation|browser)\/.+\.test\.ts$/
  expect(
    mutants.filter(({ tests }) => tests.length === 0 || !tests.every((file) => push.test(file))),
  ).toEqual([])
})

test('each law is broken in two ways at least, and the whole in forty', () => {
  const laws = Array.from({ length: 12 }, (_, at) => at + 1)
  expect(laws.filter((law) => mutants.filter((mutant) => mutant.law === law).length < 2)).toEqual([])
  expect(mutants.length).toBeGreaterThanOrEqual(40)
})
