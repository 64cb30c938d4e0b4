import { expect, test } from 'vitest'
import { asDroverError, DroverError, FencedError, recordError } from '../../src/errors.ts'

const facts = {
  code: 'host-full',
  class: 'environment',
  message: 'Host a has no room.',
  remedy: 'Free some memory.',
} as const

test('an error of ours passes through unchanged', () => {
  const error = new DroverError(facts)
  expect(asDroverError(error)).toBe(error)
})

test('an error nobody foresaw is a bug, keeps its words and its cause', () => {
  const cause = new TypeError('x is not a function')
  const error = asDroverError(cause)
  expect(error).toMatchObject({ code: 'unexpected', class: 'bug', cause })
  expect(error.message).toContain('x is not a function')
})

test.each([['a text'], [undefined], [null], [42], [{ a: 1 }], [Symbol('s')]])(
  '%s thrown becomes an error',
  (thrown) => {
    const error = asDroverError(thrown)
    expect(error).toBeInstanceOf(DroverError)
    expect(error.class).toBe('bug')
  },
)

test('what is recorded of an error has its facts, no stack, and no empty fields', () => {
  const plain = recordError(new DroverError(facts, { cause: new Error('inner') }))
  expect(plain).toEqual(facts)
  expect(Object.keys(plain)).toEqual(['code', 'class', 'message', 'remedy'])
  const full = { ...facts, field: 'host', detail: { host: 'a' } }
  expect(recordError(new DroverError(full))).toEqual(full)
})

test('a fenced error names the job and the epoch and asks nobody for anything', () => {
  const error = new FencedError('job-1', 7)
  expect(error).toBeInstanceOf(DroverError)
  expect(error).toMatchObject({ code: 'fenced', detail: { job_id: 'job-1', epoch: 7 } })
  expect(error.remedy).toMatch(/nothing to do/i)
})
