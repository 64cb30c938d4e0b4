import { expect, test } from 'vitest'
import { operationReasons } from '../../../src/domain/operation/kinds/reasons.ts'
import { readSource, repositoryFiles } from '../repository/sources.ts'

const reasons = Object.keys(operationReasons)

/** Where operations are done to machines that are there, of a lab or of a simulator. */
const proofs = repositoryFiles
  .filter((path) => /^test\/(integration|api|crash|contract)\/.*operation.*\.test\.ts$/.test(path))
  .map(readSource)

test('every reason there is comes about in a test that does operations to machines', () => {
  expect(proofs.length).toBeGreaterThan(10)
  const unreached = reasons.filter((reason) => !proofs.some((text) => text.includes(`'${reason}'`)))
  expect(unreached).toEqual([])
})

test('every reason is a sentence, with a remedy that is one', () => {
  for (const [reason, { title, remedy }] of Object.entries(operationReasons)) {
    expect(`${reason}: ${title}`).toMatch(/^[a-z-]+: [A-Z].*[^.]$/)
    expect(`${reason}: ${remedy}`).toMatch(/^[a-z-]+: [A-Z].*[.]$/)
  }
})

test('a name that the code gives as a reason is one of the list', () => {
  const given = repositoryFiles
    .filter((path) => /^src\/operation\/.*\.ts$/.test(path))
    .flatMap((path) => [...readSource(path).matchAll(/\breason: '([a-z-]+)'/g)].map(([, name]) => name ?? ''))
  expect(given.length).toBeGreaterThan(5)
  expect(given.filter((name) => !reasons.includes(name))).toEqual([])
})
