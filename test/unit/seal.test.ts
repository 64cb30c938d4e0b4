import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createSealer } from '../../src/seal.ts'

const key = randomBytes(32).toString('hex')
const broken = expect.objectContaining({ code: 'seal-broken', class: 'config', field: 'DROVER_SECRET_KEY' })

test('every text comes back out of its seal', () => {
  const sealer = createSealer(key)
  fc.assert(fc.property(fc.string({ unit: 'grapheme' }), (text) => sealer.open(sealer.seal(text)) === text))
})

test('two seals of one text differ, and neither shows it', () => {
  const sealer = createSealer(key)
  const [a, b] = [sealer.seal('a password of ours'), sealer.seal('a password of ours')]
  expect(a.equals(b)).toBe(false)
  expect(a.includes('password')).toBe(false)
})

test('a seal with any bit changed is refused', () => {
  const sealer = createSealer(key)
  const sealed = sealer.seal('secret')
  fc.assert(
    fc.property(fc.nat(sealed.length * 8 - 1), (bit) => {
      const changed = Buffer.from(sealed)
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      expect(() => sealer.open(changed)).toThrow(broken)
    }),
  )
})

test('a seal that was cut short is refused', () => {
  const sealer = createSealer(key)
  const sealed = sealer.seal('secret')
  for (let length = 0; length < sealed.length; length += 1)
    expect(() => sealer.open(sealed.subarray(0, length))).toThrow(broken)
})

test('another key opens nothing', () => {
  const other = createSealer(randomBytes(32).toString('hex'))
  expect(() => other.open(createSealer(key).seal('secret'))).toThrow(broken)
})

test('a mac depends on the key and on every byte, and stays the same', () => {
  const data = Buffer.from('an event')
  const sealer = createSealer(key)
  expect(sealer.mac(data)).toEqual(createSealer(key).mac(data))
  expect(sealer.mac(data)).not.toEqual(sealer.mac(Buffer.from('an evenT')))
  expect(sealer.mac(data)).not.toEqual(createSealer(randomBytes(32).toString('hex')).mac(data))
})

test('a key that is not 32 bytes is refused by name', () => {
  for (const bad of ['', 'ab', key.slice(1), `${key}00`, key.toUpperCase().replace(/[0-9]/g, 'G')])
    expect(() => createSealer(bad)).toThrow(expect.objectContaining({ field: 'DROVER_SECRET_KEY' }))
})
