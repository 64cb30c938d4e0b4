import { describe, expect, test } from 'vitest'
import {
  refuseCa,
  refuseEndpoint,
  tidyEndpoint,
  tidyFingerprint,
} from '../../../src/api/access/site-credentials.ts'
import { scrub } from '../../../src/api/lists/scrub.ts'
import { csvLine } from '../../../src/api/wire/csv.ts'
import { readSettings, siteLimits, syncToken } from '../../../src/domain/inventory/site-settings.ts'
import { parseToken } from '../../../src/domain/job/token.ts'

describe('scrub', () => {
  test.each([
    [{ password: 'x1y2' }],
    [{ 'db-passwd': 'x1y2' }],
    [{ DB_PASSWORD: 'x1y2' }],
    [{ adminPwd: 'x1y2' }],
    [{ api_key: ['x1y2'] }],
    [{ 'access key': 'x1y2' }],
    [{ credentials: { user: 'a', value: 'x1y2' } }],
    ['password=x1y2'],
    ['the password is x1y2'],
    ['pwd: "x1y2 and more"'],
    ['root_password="x1y2"'],
    ['{"token":"x1y2"}'],
    ['curl -H "Authorization: Bearer x1y2x1y2x1y2"'],
    ['https://ann:x1y2@example.org/'],
    ['https://x1y2@example.org/'],
    ['-----BEGIN RSA PRIVATE KEY-----\nx1y2\n-----END RSA PRIVATE KEY-----'],
    ['-----BEGIN PRIVATE KEY-----\nx1y2'],
    [[{ deep: [{ secret: 'x1y2' }] }]],
  ])('takes the secret out of %j', (value) => {
    expect(JSON.stringify(scrub(value))).not.toContain('x1y2')
  })

  test('leaves everything else as it is', () => {
    const facts = {
      name: 'password-server-01',
      has_password: true,
      tokens: 3,
      description: 'keeps tokens for the shop',
      nested: [{ cpus: 4, at: null }, 'a@b.org', 'https://example.org/a@b'],
    }
    expect(scrub(facts)).toEqual(facts)
  })
})

describe('a line of CSV', () => {
  test('quotes, and is no formula', () => {
    expect(csvLine(['a', 1, true, null, 'b"c', 'd,e'])).toBe('"a","1","true","","b""c","d,e"\r\n')
    const formulas = ['=1', '+1', '-1', '@a', ' =1', '\u00a0=1', '＝1', '＋1', '－1', '＠a', ' ＝1', '﹦1']
    expect(csvLine(formulas)).toBe(`${formulas.map((text) => `"'${text}"`).join(',')}\r\n`)
    // A number is ours, and stays one.
    expect(csvLine([-1])).toBe('"-1"\r\n')
  })

  test('holds no control, and what hides behind one is no formula either', () => {
    expect(csvLine(['\t=1', '\r=1', '\u200b＝1', '\u202e\u0000=1', 'd\r\ne\u001b[2J'])).toBe(
      `"'⟨9⟩=1","'⟨D⟩=1","'⟨200B⟩＝1","'⟨202E⟩⟨0⟩=1","d⟨D⟩⟨A⟩e⟨1B⟩[2J"\r\n`,
    )
  })
})

describe('a connection', () => {
  test('has an address in one spelling', () => {
    expect(tidyEndpoint('HTTPS://VCenter.Example.org:443')).toBe('https://vcenter.example.org/')
    expect(refuseEndpoint('https://vcenter.example.org:8443/sdk')).toBeUndefined()
    expect(refuseEndpoint('http://[::1]:9440/sites/x')).toBeUndefined()
  })

  test.each(['', 'http://10.0.0.1', 'https://a?b', 'https://a#b', 'https://u@a', 'file:///etc/passwd', 'x'])(
    'has no address like %j',
    (text) => {
      expect(refuseEndpoint(text)).toMatch(/^must/)
    },
  )

  test('has a fingerprint in one spelling, and certificates alone', () => {
    expect(tidyFingerprint(`${'AB:'.repeat(31)}AB`)).toBe('ab'.repeat(32))
    expect(tidyFingerprint('')).toBe('')
    expect(tidyFingerprint('ab'.repeat(20))).toBeUndefined()
    expect(refuseCa('  ')).toBeUndefined()
    expect(refuseCa('x')).toMatch(/PEM/)
  })
})

describe('settings', () => {
  test('have defaults, and say their limits; 0 is unlimited', () => {
    expect(readSettings('source', {})).toMatchObject({ import_limit: 0, sync_limit: 8, scopes: [] })
    expect(readSettings('target', {})).toMatchObject({ create_limit: 10 })
    expect(siteLimits({ role: 'source', name: 'a', settings: { import_limit: 4 } })).toEqual([
      { token: 'source-imports/a', capacity: 4 },
    ])
    expect(siteLimits({ role: 'target', name: 'a', settings: { create_limit: 0 } })).toEqual([
      { token: 'target-imports/a', capacity: 100_000 },
      { token: 'target-creates/a', capacity: 100_000 },
    ])
  })

  test('name tokens that admission knows', () => {
    const tokens = (['source', 'target'] as const).flatMap((role) => [
      syncToken(role, 'a'),
      ...siteLimits({ role, name: 'a', settings: {} }).map(({ token }) => token),
    ])
    expect(tokens.filter((token) => !parseToken(token))).toEqual([])
  })
})
