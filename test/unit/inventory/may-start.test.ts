import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Starter, type Twin, whyNotStart } from '../../../src/domain/inventory/may-start.ts'

const source: Starter = { called: 'web-01 (vm-1)', isCopy: false, provenAt: null, byItsMigration: false }
const unproven: Starter = { ...source, called: 'web-01 (vm-9)', isCopy: true }
const proven: Starter = { ...unproven, provenAt: 1_000 }
const twin: Twin = {
  relation: 'same-uuid',
  provenAt: null,
  called: 'web-01 (vm-7) of cloud',
  power: 'off',
  starting: null,
}
const copy: Twin = { ...twin, relation: 'copy' }
const original: Twin = { ...twin, relation: 'original' }

const anyTwin = fc.record({
  relation: fc.constantFrom<Twin['relation']>('copy', 'original', 'same-uuid'),
  provenAt: fc.option(fc.integer({ min: 1, max: 2_000 })),
  called: fc.constant('another'),
  power: fc.constantFrom<Twin['power']>('on', 'off', 'suspended', 'unknown', 'gone'),
  starting: fc.option(fc.constant('the operation 1')),
})
const anyStarter = fc.record({
  called: fc.constant('one'),
  isCopy: fc.boolean(),
  provenAt: fc.option(fc.integer({ min: 1, max: 2_000 })),
  byItsMigration: fc.boolean(),
})

// promise: one-copy
test('whatever it is, nothing is started beside the same VM that runs or may be about to', () => {
  fc.assert(
    fc.property(
      anyStarter,
      fc.array(anyTwin),
      fc.constantFrom('asked' as const, 'now' as const),
      (self, some, moment) => {
        const running: Twin = { ...twin, power: 'on' }
        expect(whyNotStart(self, [...some, running], moment)).toBeDefined()
        expect(whyNotStart(self, [...some, { ...twin, starting: 'the job 1' }], moment)).toBeDefined()
        expect(whyNotStart(self, [...some, { ...twin, power: 'suspended' }], moment)).toBeDefined()
      },
    ),
  )
})

test('right before the call nothing that cannot be told is taken for off, but by the word of a certificate', () => {
  const unknown: Twin = { ...twin, power: 'unknown' }
  for (const self of [source, unproven, proven])
    expect(whyNotStart(self, [unknown], 'now')?.code).toBe('runs-elsewhere')
  expect(whyNotStart(proven, [{ ...original, power: 'unknown' }], 'now')).toBeUndefined()
  expect(whyNotStart(proven, [{ ...copy, power: 'unknown', provenAt: 500 }], 'now')).toBeUndefined()
  expect(whyNotStart(source, [unknown], 'asked')).toBeUndefined()
})

test('where a verified copy has taken the place of a machine, that stays off, and what was verified last counts', () => {
  const takenOver: Twin = { ...copy, provenAt: 2_000 }
  expect(whyNotStart(source, [takenOver], 'asked')?.code).toBe('migrated')
  expect(whyNotStart({ ...source, byItsMigration: true }, [takenOver], 'now')?.code).toBe('migrated')
  expect(whyNotStart(proven, [takenOver], 'now')?.code).toBe('migrated')
  expect(whyNotStart({ ...proven, provenAt: 3_000 }, [takenOver], 'now')).toBeUndefined()
  expect(whyNotStart(source, [{ ...takenOver, power: 'gone' }], 'now')).toBeUndefined()
})

test('a copy that nobody verified is started by its migration alone, while its source is there', () => {
  expect(whyNotStart(unproven, [original], 'asked')?.code).toBe('unproven-copy')
  expect(whyNotStart({ ...unproven, byItsMigration: true }, [original], 'now')).toBeUndefined()
  expect(whyNotStart(unproven, [{ ...original, power: 'gone' }], 'now')).toBeUndefined()
  expect(whyNotStart(unproven, [], 'asked')).toBeUndefined()
})

test('a refusal names the other machine', () => {
  expect(whyNotStart(source, [{ ...twin, power: 'on' }], 'asked')?.message).toContain(
    'web-01 (vm-7) of cloud',
  )
  expect(whyNotStart(source, [{ ...twin, power: 'unknown' }], 'now')?.message).toContain('nobody can tell')
})
