import fc from 'fast-check'
import { expect, test } from 'vitest'
import { storableJson, storableText } from '../../src/storable.ts'

/** Any text at all, also what no UTF-8 can say. */
const anyText = fc.string({
  unit: fc.constantFrom('a', '"', '\\', '\\u', 'é', '\0', '\x1f', '\ud83d', '\ude00'),
})

test('JSON of whatever value is text that Postgres takes, and the same value where nothing was wrong', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary' }), fc.dictionary(anyText, anyText), (value, texts) => {
      const text = storableJson({ value, texts })
      expect(text).not.toMatch(/(?<!\\)(\\\\)*\\u(0000|d[89a-f])/)
      const wellFormed = (one: string) => storableText(one) === one
      if (Object.entries(texts).flat().every(wellFormed) && wellFormed(JSON.stringify(value)))
        expect((JSON.parse(text) as { texts: unknown }).texts).toEqual(texts)
    }),
  )
})

test('NUL, half a character and large numbers are written so that they can be stored, in keys too', () => {
  expect(storableJson({ 'a\0': 'b\0', half: '\ud83d', whole: '\ud83d\ude00', big: 10n })).toBe(
    '{"a\ufffd":"b\ufffd","half":"\ufffd","whole":"\ud83d\ude00","big":"10"}',
  )
  expect(storableJson({ path: 'C:\\users\\u0000', line: 'a\x1fb' })).toBe(
    JSON.stringify({ path: 'C:\\users\\u0000', line: 'a\x1fb' }),
  )
  expect([storableJson(undefined), storableJson(null), storableJson('\0')]).toEqual([
    'null',
    'null',
    '"\ufffd"',
  ])
})

test('what no JSON can hold is said', () => {
  const round: Record<string, unknown> = {}
  round.self = round
  expect(() => storableJson(round)).toThrow(TypeError)
})
