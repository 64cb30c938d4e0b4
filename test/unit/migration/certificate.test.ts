import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { CertificateDocument } from '../../../src/certificate/document.ts'
import { certificateText, verifyCertificate } from '../../../src/certificate/file.ts'
import { keyIdOf, makeSigningPair, publicPem, signCertificate } from '../../../src/certificate/signing.ts'
import { sampleCertificate, sampleFile } from '../../support/certificates.ts'

const { key, document, text } = sampleFile()
const pem = publicPem(key.publicKey)

const problemsOf = (given: string, withKey?: string): readonly string[] => {
  const verdict = verifyCertificate(given, withKey)
  return verdict.sound ? [] : verdict.problems
}

test('a file is sound as it was signed, and pinned with the key that signed it', () => {
  expect(verifyCertificate(text)).toEqual({ sound: true, certificate: document, pinned: false })
  expect(verifyCertificate(text, pem)).toMatchObject({ sound: true, pinned: true })
})

test('an older file, which names no people and not when the source was seen off, is sound as well', () => {
  const { people, source_off_at: offAt, ...older } = document
  expect([people, offAt]).not.toContain(undefined)
  const file = { document: older, signature: signCertificate(older, key), publicKey: key.publicKey }
  expect(verifyCertificate(certificateText(file), pem)).toEqual({
    sound: true,
    certificate: older,
    pinned: true,
  })
})

// promise: certificate
test('every byte matters: none can be another one', () => {
  const bytes = Buffer.from(text)
  const passed: number[] = []
  for (let at = 0; at < bytes.length; at += 1) {
    for (const bit of [0x01, 0x20]) {
      const altered = Buffer.from(bytes)
      altered[at] = (altered[at] ?? 0) ^ bit
      if (verifyCertificate(altered.toString(), pem).sound) passed.push(at)
    }
  }
  expect(passed).toEqual([])
})

test('nothing can be taken out, put in or put elsewhere', () => {
  fc.assert(
    fc.property(fc.nat(text.length - 1), fc.integer({ min: 1, max: 40 }), fc.string(), (at, count, more) => {
      const altered = text.slice(0, at) + more + text.slice(at + count)
      fc.pre(altered !== text)
      return !verifyCertificate(altered).sound
    }),
    { numRuns: 2_000 },
  )
})

test('what reads the same but is written otherwise is refused, too', () => {
  for (const other of [
    `${JSON.stringify(JSON.parse(text), null, 2)}\n`,
    text.trimEnd(),
    text.replace('"by":"job/1"', '"by":"x","by":"job/1"'),
    text.replace('10000000', '1e7'),
    text.replace('"by"', '"b\\u0079"'),
  ]) {
    expect(other).not.toBe(text)
    expect(verifyCertificate(other).sound).toBe(false)
  }
})

test("another's signature does not do, whatever the file says of its key", () => {
  const other = makeSigningPair()
  const claimed = certificateText({
    document,
    signature: signCertificate(document, other),
    publicKey: other.publicKey,
  })
  expect(problemsOf(claimed)).toEqual(['Its key is not the one that it names.'])
  const forged = sampleFile({}, other).text
  expect(problemsOf(forged)).toEqual([])
  expect(problemsOf(forged, pem)).toEqual([expect.stringContaining(keyIdOf(key.publicKey))])
})

test('a key that is none is said, not taken for a verdict', () => {
  expect(() => verifyCertificate(text, 'no key')).toThrow(
    expect.objectContaining({ code: 'signing-key-invalid' }),
  )
  expect(problemsOf(text.replace(/"public_key":"[0-9a-f]+"/, '"public_key":"00"'))).not.toEqual([])
})

describe('what no sound certificate says, even when it is signed', () => {
  const disk = document.disks[0]
  if (!disk) throw new Error('The sample has a disk.')
  const failed = { name: 'agent', expected: 'running', observed: 'unknown', result: 'failed' } as const
  const why = { code: 'check-failed', message: 'agent' }
  const cases: readonly [string, Partial<CertificateDocument>][] = [
    ['other bytes on the target', { disks: [{ ...disk, target_digest: 'cd'.repeat(32) }] }],
    ['too few extents', { disks: [{ ...disk, extents: 2 }] }],
    ['more copied than there is', { disks: [{ ...disk, copied: 4 }] }],
    ['a disk that no check speaks of', { disks: [{ ...disk, disk: '2001' }] }],
    ['a disk twice', { disks: [disk, disk] }],
    ['a failed check without force', { checks: [...document.checks, failed] }],
    ['something ignored without force', { ignored: [why] }],
    [
      'force where there is none',
      { forced: true, checks: [...document.checks, { ...failed, name: 'source-power' }] },
    ],
  ]
  test.each(cases)('is refused: %s', (_what, changes) => {
    expect(problemsOf(sampleFile(changes, key).text)).not.toEqual([])
  })

  test('and what force may set aside is no contradiction', () => {
    const forced = { forced: true, checks: [...document.checks, failed], ignored: [why] }
    expect(problemsOf(sampleFile(forced, key).text)).toEqual([])
  })
})

test('the order in which a document was put together does not matter', () => {
  const turned = Object.fromEntries(Object.entries(sampleCertificate(key)).reverse()) as CertificateDocument
  expect(signCertificate(turned, key)).toEqual(signCertificate(document, key))
})
