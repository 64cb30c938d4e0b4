import { describe, expect, test } from 'vitest'
import { refusesAddress } from '../../../src/address-rules.ts'
import {
  isSigned,
  newWebhookSecret,
  signWebhook,
  webhookKey,
} from '../../../src/ledger/events/webhook-signature.ts'

describe('the signature', () => {
  // The example that the scheme's own libraries are tested with.
  const key = webhookKey('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')
  const message = {
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    timestamp: 1_614_265_330,
    body: '{"test": 2432232314}',
  }

  test('is the one other implementations make', () => {
    expect(key && signWebhook(key, message)['webhook-signature']).toBe(
      'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    )
  })

  test('holds for what was sent, lately, and for nothing else', () => {
    if (!key) throw new Error('The key was refused.')
    const headers = signWebhook(key, message)
    const nowMs = message.timestamp * 1_000
    expect(isSigned(key, { headers, body: message.body, nowMs })).toBe(true)
    const twice = { ...headers, 'webhook-signature': `v1,AAAA ${headers['webhook-signature']}` }
    expect(isSigned(key, { headers: twice, body: message.body, nowMs })).toBe(true)
    expect(isSigned(key, { headers, body: `${message.body} `, nowMs })).toBe(false)
    expect(isSigned(key, { headers, body: message.body, nowMs: nowMs + 300_001 })).toBe(false)
    expect(isSigned(key, { headers: { ...headers, 'webhook-id': 'x' }, body: message.body, nowMs })).toBe(
      false,
    )
    expect(isSigned(key, { headers: {}, body: message.body, nowMs })).toBe(false)
    const other = webhookKey(newWebhookSecret())
    expect(other && isSigned(other, { headers, body: message.body, nowMs })).toBe(false)
  })

  test('a secret is 24 to 64 bytes behind whsec_', () => {
    expect(webhookKey(newWebhookSecret())).toHaveLength(32)
    for (const wrong of ['', 'whsec_', 'whsec_AAAA', 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'whsec_!!!!'])
      expect(webhookKey(wrong)).toBeUndefined()
  })
})

describe('the address', () => {
  test.each([
    '169.254.169.254',
    '0.0.0.0',
    '255.255.255.255',
    '::',
    'fe80::1',
    'fe80::1%eth0',
    '::ffff:169.254.169.254',
    '[::ffff:a9fe:a9fe]',
    '64:ff9b::a9fe:a9fe',
    'fd00:ec2::254',
    'not an address',
  ])('%s is never used', (address) => {
    expect(refusesAddress(address, { allowPrivate: true })).toBe(true)
  })

  test.each([
    '127.0.0.1',
    '10.1.2.3',
    '172.31.0.1',
    '192.168.0.1',
    '100.64.0.1',
    '::1',
    'fd12::1',
    '::ffff:10.0.0.1',
  ])('%s is used where private networks are allowed', (address) => {
    expect(refusesAddress(address, { allowPrivate: true })).toBe(false)
    expect(refusesAddress(address, { allowPrivate: false })).toBe(true)
  })

  test.each(['192.0.2.1', '8.8.8.8', '172.32.0.1', '2001:db8::1'])('%s is public', (address) => {
    expect(refusesAddress(address, { allowPrivate: false })).toBe(false)
  })
})
