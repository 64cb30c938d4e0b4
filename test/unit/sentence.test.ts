import { expect, test } from 'vitest'
import { validationProblem } from '../../src/api/wire/problem.ts'

test('what is wrong with a field ends with one full stop, whether its check wrote one or not', () => {
  const said = (...messages: readonly string[]) =>
    validationProblem(messages.map((message) => ({ field: 'end', message }))).message
  expect(said('is missing')).toBe('end: is missing.')
  expect(said('It is over already.')).toBe('end: It is over already.')
  expect(said('It is over already.', 'is missing')).toBe('end: It is over already. And 1 more.')
})
