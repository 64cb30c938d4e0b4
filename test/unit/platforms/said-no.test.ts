import { expect, test } from 'vitest'
import {
  cannotTellChanges,
  type PlatformCode,
  PlatformError,
  saidNo,
} from '../../../src/platforms/ports/platform-error.ts'

const refused = (code: PlatformCode): PlatformError =>
  new PlatformError({ code, failure: 'refused', message: 'No.', remedy: '' })

test.each(['platform-busy', 'platform-unreachable', 'platform-timeout', 'platform-session-lost'] as const)(
  '%s is no word of a platform about what was asked: the same call may be granted in a moment',
  (code) => {
    expect(saidNo(refused(code))).toBe(false)
    expect(cannotTellChanges(refused(code))).toBe(false)
  },
)

test('a platform that looked and said no has said no', () => {
  expect(saidNo(refused('platform-refused'))).toBe(true)
  expect(cannotTellChanges(refused('platform-refused'))).toBe(true)
})
