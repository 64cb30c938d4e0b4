import { expect, test } from 'vitest'
import {
  failureOfCode,
  failureOfStatus,
  webhookFailures,
} from '../../../src/ledger/events/webhook-failure.ts'

test.each([
  [200, undefined],
  [204, undefined],
  [301, 'redirect'],
  [404, 'refusal'],
  [503, 'trouble'],
  [101, 'odd'],
  [999, 'odd'],
] as const)('a webhook that is answered %i fails as %s', (status, failure) => {
  expect(failureOfStatus(status)).toBe(failure)
})

test.each([
  ['ENOTFOUND', 'name'],
  ['EAI_AGAIN', 'name'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'tls'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'tls'],
  ['CERT_HAS_EXPIRED', 'tls'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'tls'],
  ['ECONNREFUSED', 'no-answer'],
  ['ECONNRESET', 'no-answer'],
  ['EHOSTUNREACH', 'no-answer'],
  ['ETIMEDOUT', 'no-answer'],
  ['HPE_INVALID_CONSTANT', 'no-answer'],
  [undefined, 'no-answer'],
] as const)('a webhook that meets %s fails as %s', (code, failure) => {
  expect(failureOfCode(code)).toBe(failure)
})

test('no sentence of a failure holds a number of a port, a status or a time', () => {
  for (const sentence of Object.values(webhookFailures)) expect(sentence).not.toMatch(/[0-9]{2,}/)
})
