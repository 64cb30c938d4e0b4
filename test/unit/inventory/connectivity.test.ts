import { describe, expect, test } from 'vitest'
import {
  connectivityAfter,
  connectivityMeanings,
  connectivityStates,
  saysOfConnection,
} from '../../../src/domain/inventory/connectivity.ts'
import { platformCodes } from '../../../src/platforms/ports/platform-error.ts'

describe('connectivity', () => {
  test.each([
    [null, 'ok'],
    ['platform-unreachable', 'cannot-connect'],
    ['platform-timeout', 'cannot-connect'],
    ['platform-answer-invalid', 'cannot-connect'],
    ['platform-redirects', 'cannot-connect'],
    ['platform-tls', 'tls-error'],
    ['platform-fingerprint', 'confirm-fingerprint'],
    ['platform-authentication', 'authentication-error'],
    ['platform-permission', 'authentication-error'],
    ['site-seal-broken', 'authentication-error'],
    ['platform-identity-changed', 'unknown'],
  ])('after %s it is %s, whatever it was', (code, state) => {
    for (const before of connectivityStates) expect(connectivityAfter(code, before)).toBe(state)
  })

  test('an error that is not about the connection leaves what was known', () => {
    for (const code of ['platform-busy', 'platform-overloaded', 'constructor', 'unexpected'])
      for (const before of connectivityStates) {
        expect(connectivityAfter(code, before)).toBe(before)
        expect(saysOfConnection(code)).toBe(false)
      }
  })

  test('every code that the table knows is a code of platforms', () => {
    const changing = Object.keys(platformCodes).filter(
      (code) => connectivityAfter(code, 'unknown') !== 'unknown',
    )
    expect(changing).toHaveLength(8)
  })

  test('every state has a sentence and a remedy, as people read it', () => {
    for (const state of connectivityStates) {
      expect(connectivityMeanings[state].sentence).toMatch(/^[A-Z].*\.$/)
      expect(connectivityMeanings[state].remedy).toMatch(/^[A-Z].*\.$/)
    }
  })
})
