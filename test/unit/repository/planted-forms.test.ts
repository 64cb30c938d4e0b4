import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { distinct, distinctWord, lookThrough } from '../../support/planted/forms.ts'

const secret = { name: 'the secret', value: distinct('planted') }
const word = { name: 'the word', value: distinctWord('planted') }

const found = (text: string) => lookThrough([secret, word], [{ place: 'a', where: 'b', text }])

const wrappings: readonly [string, (value: string) => string][] = [
  ['as it is', (value) => `user:${value}@host`],
  ['in JSON', (value) => JSON.stringify({ detail: { a: value } })],
  ['in JSON in JSON', (value) => JSON.stringify({ a: JSON.stringify({ b: value }) })],
  ['in a URL', (value) => `http://host/?a=${encodeURIComponent(value)}&b=1`],
  ['in a form', (value) => new URLSearchParams({ token: value }).toString()],
  ['in hex', (value) => `\\x00${Buffer.from(value).toString('hex')}ff`],
  ['in upper hex', (value) => Buffer.from(value).toString('hex').toUpperCase()],
  ['in a page', (value) => `<b>${value.replaceAll('"', '&quot;')}</b>`],
  ['read as bytes', (value) => Buffer.from(`\0${value}\0`).toString('latin1')],
  ...[0, 1, 2, 3, 4].flatMap((before): [string, (value: string) => string][] => [
    [
      `in base64, ${before} bytes in`,
      (value) => Buffer.from(`${'u'.repeat(before)}${value}:p`).toString('base64'),
    ],
    [
      `in base64url, ${before} bytes in`,
      (value) => Buffer.from(`${'u'.repeat(before)}${value}:p`).toString('base64url'),
    ],
  ]),
]

test.each(wrappings)('a secret is found %s', (_how, wrap) => {
  expect(found(wrap(secret.value)).map(({ secret: name }) => name)).toContain('the secret')
  expect(found(wrap(word.value)).map(({ secret: name }) => name)).toContain('the word')
})

test('what is no secret is not found, and what belongs somewhere is found elsewhere', () => {
  expect(found(`planted ${gzipSync('a').toString('base64')}`)).toEqual([])
  const pieces = ['here', 'there'].map((where) => ({ place: 'a', where, text: word.value }))
  const belongs = [{ secret: 'the word', place: 'a', where: /^here$/, why: 'It does.' }]
  expect(lookThrough([word], pieces, belongs).map(({ where }) => where)).toEqual(['there'])
})
