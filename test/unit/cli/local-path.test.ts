import fc from 'fast-check'
import { expect, test } from 'vitest'
import { localPath } from '../../../src/api/access/login.ts'

const origin = 'https://drover.example.com'

test.each([
  ...['', 'jobs', '//evil.example', '/\\evil.example', 'https://evil.example', 'javascript:alert(1)'],
  ...['/\t/evil.example', '/.//evil.example', '/..//evil.example', '/jobs/..//evil.example'],
  ...['/./\\evil.example', '/%2e//evil.example', '/%2e%2e//evil.example', '/%2f/evil.example'],
  ...['/%2fevil.example', '/%5cevil.example', '/%252fevil.example', '/%0a/evil.example', '/\n/evil'],
  ...['/jobs%00', '/%E0%A4%A', '/jobs/%2e%2e%2f%2fevil.example', '/login/../..//evil.example'],
])('never leads to another site: %j', (next) => {
  expect(localPath(next)).toBe('/')
})

test.each([
  '/',
  '/jobs',
  '/docs?x=1',
  '/machines?filter=name%20%3D%3D%20%22%2F%2Fa%5C%22',
  '/batches/wave-1/plans/',
])('leads back to a path of ours: %j', (next) => {
  expect(localPath(next)).toBe(next)
})

test('whatever is asked for, a browser stays here, also when it reads the answer twice', () => {
  const sign = fc.constantFrom(
    ...['/', '\\', '.', '..', '%2e', '%2E', '%2f', '%2F', '%5c', '%252f', '%25', '\t', '\n', '\r', '\0', ' '],
    ...[
      '@',
      ':',
      '?',
      '#',
      'a',
      'evil.example',
      'http',
      '%09',
      '%0d',
      '\u2028',
      '\uff0f',
      '\u3002',
      '[',
      ';',
    ],
  )
  const hostile = fc.array(sign, { maxLength: 12 }).map((signs) => `/${signs.join('')}`)
  fc.assert(
    fc.property(fc.oneof(hostile, fc.string({ unit: 'binary' })), (next) => {
      const path = localPath(next)
      const url = new URL(path, origin)
      expect(url.origin).toBe(origin)
      expect(url.username + url.password).toBe('')
      expect(url.pathname + url.search).toBe(path)
      // What a proxy decodes, or a page asks for again.
      const again = new URL(decodeURIComponent(url.pathname), origin)
      expect(again.origin).toBe(origin)
    }),
    { numRuns: 20_000 },
  )
})
