import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createSealer, type SealPlace, sealKeyId, secretKeyId } from '../../../src/seal/seal.ts'
import { siteCursorPlace, sitePasswordPlace } from '../../../src/seal/seal-places.ts'
import { openFormerSeal } from '../../../src/sealing/former-seal.ts'
import { formerSeal } from '../../support/former-seal.ts'

const key = randomBytes(32).toString('hex')
const otherKey = randomBytes(32).toString('hex')
const broken = expect.objectContaining({ code: 'seal-broken', class: 'config', field: 'DROVER_SECRET_KEY' })
const place: SealPlace = ['thing', 'one']

test('every text comes back out of its seal, at the place that it was sealed for', () => {
  const sealer = createSealer(key)
  const places = fc.tuple(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'binary' }))
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), places, (text, where) => {
      expect(sealer.open(sealer.seal(text, where), where)).toBe(text)
    }),
  )
})

test('two seals of one text differ, and neither shows it', () => {
  const sealer = createSealer(key)
  const [a, b] = [sealer.seal('a password of ours', place), sealer.seal('a password of ours', place)]
  expect(a.equals(b)).toBe(false)
  expect(a.includes('password')).toBe(false)
})

test('a seal opens at no other place, however alike the places are written', () => {
  const sealer = createSealer(key)
  const parts = fc.array(fc.constantFrom('', 'a', 'b', 'ab', 'a\0b', '\0\0\0\u0001a', ','), { maxLength: 5 })
  fc.assert(
    fc.property(parts, parts, (one, two) => {
      fc.pre(JSON.stringify(one) !== JSON.stringify(two))
      const sealed = sealer.seal('secret', ['thing', ...one])
      expect(() => sealer.open(sealed, ['thing', ...two])).toThrow(broken)
    }),
  )
  expect(() => sealer.open(sealer.seal('secret', ['a', 'b']), ['ab'])).toThrow(broken)
})

test('a password and a cursor of one site do not open as each other', () => {
  const sealer = createSealer(key)
  const site = {
    ...{ id: 'i', role: 'source', kind: 'lab', endpoint: 'http://127.0.0.1', username: 'u', ca: '' },
    ...{ fingerprint: '', settings: {} },
  }
  const [password, cursor] = [sitePasswordPlace(site), siteCursorPlace(site)]
  expect(() => sealer.open(sealer.seal('x', cursor), password)).toThrow(broken)
  expect(() => sealer.open(sealer.seal('x', password), cursor)).toThrow(broken)
})

test('a seal with any bit changed is refused', () => {
  const sealer = createSealer(key)
  const sealed = sealer.seal('secret', place)
  fc.assert(
    fc.property(fc.nat(sealed.length * 8 - 1), (bit) => {
      const changed = Buffer.from(sealed)
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      expect(() => sealer.open(changed, place)).toThrow(broken)
    }),
  )
})

test('a seal that was cut short is refused', () => {
  const sealer = createSealer(key)
  const sealed = sealer.seal('secret', place)
  for (let length = 0; length < sealed.length; length += 1)
    expect(() => sealer.open(sealed.subarray(0, length), place)).toThrow(broken)
})

test('another key opens nothing, and the error names the key that would', () => {
  const sealed = createSealer(key).seal('secret', place)
  const error = expect.objectContaining({ message: expect.stringContaining(secretKeyId(key)) })
  expect(() => createSealer(otherKey).open(sealed, place)).toThrow(error)
})

test('a ring opens what each of its keys sealed, and seals with the current one alone', () => {
  const ring = createSealer(otherKey, [key])
  const old = createSealer(key)
  expect(ring.open(old.seal('secret', place), place)).toBe('secret')
  expect(sealKeyId(ring.seal('secret', place))).toBe(secretKeyId(otherKey))
  expect(ring.keyIds).toEqual([secretKeyId(otherKey), secretKeyId(key)])
  expect(() => old.open(ring.seal('secret', place), place)).toThrow(broken)
})

test('the id of a key shows nothing of the key', () => {
  expect(secretKeyId(key)).toMatch(/^[0-9a-f]{16}$/)
  expect(key).not.toContain(secretKeyId(key))
})

test('a seal of the version before, which fits everywhere, is opened by the upgrade alone', () => {
  const former = formerSeal(key, 'secret')
  expect(() => createSealer(key).open(former, place)).toThrow(broken)
  expect(openFormerSeal([otherKey, key], former)).toBe('secret')
  expect(() => openFormerSeal([otherKey], former)).toThrow(broken)
  expect(() => openFormerSeal([key], createSealer(key).seal('secret', place))).toThrow(broken)
})

test('a mac depends on the key and on every byte, and stays the same', () => {
  const data = Buffer.from('an event')
  const sealer = createSealer(key)
  expect(sealer.mac(data)).toEqual(createSealer(key).mac(data))
  expect(sealer.mac(data)).not.toEqual(sealer.mac(Buffer.from('an evenT')))
  expect(sealer.mac(data)).not.toEqual(createSealer(otherKey).mac(data))
})

test('a mac is known by every ring that holds its key, and by no other', () => {
  const data = Buffer.from('an event')
  const mac = createSealer(key).mac(data)
  expect(createSealer(otherKey, [key]).isMac(data, mac)).toBe(true)
  expect(createSealer(key).isMac(data, mac)).toBe(true)
  expect(createSealer(otherKey).isMac(data, mac)).toBe(false)
  expect(createSealer(key).isMac(Buffer.from('an evenT'), mac)).toBe(false)
  expect(createSealer(key).isMac(data, mac.subarray(1))).toBe(false)
})

test('a key that is not 32 bytes is refused by name', () => {
  for (const bad of ['', 'ab', key.slice(1), `${key}00`, key.toUpperCase().replace(/[0-9]/g, 'G')]) {
    expect(() => createSealer(bad)).toThrow(expect.objectContaining({ field: 'DROVER_SECRET_KEY' }))
    expect(() => createSealer(key, [bad])).toThrow(
      expect.objectContaining({ field: 'DROVER_SECRET_KEYS_OLD' }),
    )
  }
})
