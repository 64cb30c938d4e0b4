import { BlockList } from 'node:net'
import { describe, expect, test } from 'vitest'
import { isSameOrigin } from '../../src/api/http/peers.ts'
import { readConfig } from '../../src/config/config.ts'
import { parseProxies, parsePublicUrl, peerOf } from '../../src/config/front.ts'

describe('the public address', () => {
  test.each([
    'https://drover.example.com',
    'https://drover.example.com:8443',
    'http://10.0.0.7:7070',
    'https://[2001:db8::1]',
  ])('is %s', (text) => {
    expect(readConfig({ DROVER_PUBLIC_URL: text }).front.publicUrl?.origin).toBe(text)
  })

  test.each([
    ...['drover.example.com', 'https://', 'ftp://drover.example.com', 'https://drover.example.com/console'],
    ...['https://drover.example.com?x=1', 'https://drover.example.com#x', 'https://ann:x@drover.example.com'],
    ...[
      'https://drover example.com',
      'https://drover.example.com:99999',
      'https://drover.example.com:0',
      'https://*.example.com',
    ],
  ])('is not %s', (text) => {
    expect(parsePublicUrl(text)).toBeUndefined()
    expect(() => readConfig({ DROVER_PUBLIC_URL: text })).toThrow(
      expect.objectContaining({ field: 'DROVER_PUBLIC_URL' }),
    )
  })

  test('is where a page has to come from that acts by a cookie, with its scheme and port', () => {
    const publicUrl = new URL('https://drover.example.com:8443')
    const from = (origin: string, host: string) =>
      isSameOrigin(new Request('http://127.0.0.1:7070/x', { method: 'POST', headers: { origin, host } }), {
        publicUrl,
      })
    const names = ['drover.example.com:8443', 'drover.example.com', '127.0.0.1:7070']
    for (const host of names)
      expect([host, from('https://drover.example.com:8443', host)]).toEqual([host, true])
    for (const host of names)
      for (const origin of [
        'http://drover.example.com:8443',
        'https://drover.example.com',
        'https://evil.example',
      ])
        expect([origin, host, from(origin, host)]).toEqual([origin, host, false])
    expect(from('http://127.0.0.1:7070', '127.0.0.1:7070')).toBe(true)
  })
})

describe('who asks', () => {
  const proxies = parseProxies('127.0.0.1, 10.1.0.0/16,2001:db8:1::/48') ?? new BlockList()

  test.each([
    ['nobody is between', '203.0.113.9', undefined, '203.0.113.9'],
    ['somebody who is not trusted says who asks', '203.0.113.9', '198.51.100.1', '203.0.113.9'],
    ['a trusted proxy says who asks', '127.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['as IPv4 in IPv6', '::ffff:127.0.0.1', '::ffff:198.51.100.1', '198.51.100.1'],
    ['what stands left of that is a tale', '127.0.0.1', '10.1.2.3, 127.0.0.1, 198.51.100.1', '198.51.100.1'],
    ['two trusted proxies', '127.0.0.1', '198.51.100.1, 10.1.2.3', '198.51.100.1'],
    ['over IPv6', '2001:db8:1::7', '2001:db8:2::9', '2001:db8:2::9'],
    ['with a port', '127.0.0.1', '198.51.100.1:4711', '198.51.100.1'],
    ['with a port, over IPv6', '127.0.0.1', '[2001:db8:2::9]:4711', '2001:db8:2::9'],
    ['all are trusted', '127.0.0.1', '10.1.2.3', '10.1.2.3'],
    ['nothing is said', '127.0.0.1', undefined, '127.0.0.1'],
    ['what is said is no address', '127.0.0.1', '198.51.100.1, <script>', '127.0.0.1'],
    ['what is said is no address further on', '127.0.0.1', 'unknown, 10.1.2.3', '10.1.2.3'],
    ['the list has no end', '127.0.0.1', `198.51.100.1${', 10.1.2.3'.repeat(9_000)}`, '10.1.2.3'],
    ['the connection is gone', undefined, '198.51.100.1', 'unknown'],
  ])('is known by the hop that counts: %s', (_when, connected, forwarded, peer) => {
    expect(peerOf(connected, forwarded, proxies)).toBe(peer)
  })

  test.each([
    'localhost',
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0/8',
    '10.0.0.1,',
    '::1/129',
    '10.0.0.0/8/8',
    '*',
  ])('a proxy is not named by %s', (text) => {
    expect(() => readConfig({ DROVER_TRUSTED_PROXIES: text })).toThrow(
      expect.objectContaining({ field: 'DROVER_TRUSTED_PROXIES' }),
    )
  })

  test('nobody is trusted unless named', () => {
    const { trustedProxies } = readConfig({}).front
    expect(peerOf('127.0.0.1', '198.51.100.1', trustedProxies)).toBe('127.0.0.1')
  })
})
