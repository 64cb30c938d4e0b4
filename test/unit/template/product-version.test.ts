import { expect, test } from 'vitest'
import { compareVersions, isDowngrade } from '../../../src/domain/template/product-version.ts'

test.each([
  ['9.3', '9.4'],
  ['9.4', '9.10'],
  ['9', '9.0.1'],
  ['v1.2.3-rc.1', '1.2.3-rc.2'],
  ['1.2.3-rc.2', '1.2.3'],
  ['1.2.3-alpha', '1.2.3-alpha.1'],
  ['1.2.3-alpha.9', '1.2.3-beta'],
  ['418.92.202402201450-0', '418.92.202402201450-1'],
  ['418.92.202402201450-0', '418.94.202401010000-0'],
  ['1.20.el8', '1.20.el9'],
  ['2026-01-30', '2026-02-01'],
])('%s is older than %s', (older, newer) => {
  expect(compareVersions(older, newer)).toBeLessThan(0)
  expect(compareVersions(newer, older)).toBeGreaterThan(0)
  expect(compareVersions(newer, newer)).toBe(0)
})

test.each([
  ['1.0', '1'],
  ['V1.2', '1.2'],
  ['1.2.3+build.5', '1.2.3'],
])('%s and %s are the same version', (a, b) => {
  expect(compareVersions(a, b)).toBe(0)
})

test('what is no version, or is of another product, is no downgrade', () => {
  expect(compareVersions('bookworm', '12')).toBeUndefined()
  const older = { product: 'RHEL', version: '9.3' }
  const newer = { product: 'RHEL', version: '9.4' }
  expect(isDowngrade(newer, older)).toBe(true)
  expect(isDowngrade(older, newer)).toBe(false)
  expect(isDowngrade(newer, newer)).toBe(false)
  expect(isDowngrade(newer, { product: 'Debian', version: '1' })).toBe(false)
  expect(isDowngrade(newer, { product: 'RHEL', version: 'unknown' })).toBe(false)
})
