import { expect, test } from 'vitest'
import { copiedBytes, copyWay, diskFieldsOf, whyNeverCopied } from '../../../src/domain/inventory/copy-way.ts'
import type { DiskFacts } from '../../../src/domain/inventory/facts.ts'
import { evaluate } from '../../../src/domain/inventory/rules/evaluate.ts'
import { applyWaivers } from '../../../src/domain/inventory/rules/waivers.ts'
import { trackingState } from '../../../src/domain/inventory/tracking.ts'
import { effective, sampleContext, sampleDisk, sampleInstance } from './samples.ts'

const backings = ['file', 'raw-mapping', 'raw', 'volume', 'unknown'] as const
const modes = ['dependent', 'independent', 'unknown'] as const
const every: Partial<DiskFacts>[] = backings.flatMap((backing) =>
  modes.flatMap((mode) => [true, false].map((shared) => ({ backing, mode, shared }))),
)

test.each([
  [{}, 'while-running'],
  [{ backing: 'volume' }, 'while-running'],
  [{ mode: 'independent' }, 'while-off'],
  [{ backing: 'volume', mode: 'independent' }, 'while-off'],
  [{ mode: 'unknown' }, 'never'],
  [{ shared: true }, 'never'],
  [{ mode: 'independent', shared: true }, 'never'],
  [{ backing: 'raw' }, 'never'],
  [{ backing: 'raw-mapping' }, 'never'],
  [{ backing: 'raw-mapping', mode: 'independent' }, 'never'],
  [{ backing: 'unknown' }, 'never'],
  [{ encrypted: true }, 'while-running'],
  [{ encrypted: true, unreadable: 'is encrypted' }, 'never'],
  [{ mode: 'independent', unreadable: 'is kept in a format that is not read' }, 'never'],
] as const)('a disk with %o is copied %s', (changes, way) => {
  const disk = sampleDisk(changes)
  expect(copyWay(disk)).toBe(way)
  expect(diskFieldsOf(disk)).toEqual({ supported: way === 'while-running', copied: way })
  expect(whyNeverCopied(disk) !== undefined).toBe(way === 'never')
})

// promise: waived-disk
test('what can never be copied blocks whatever is waived, and what is copied while off blocks until it is', () => {
  for (const changes of every) {
    const disk = sampleDisk(changes)
    const waiveAll = { overrides: { ignore_restrictions: true } }
    const found = evaluate(effective({ disks: [disk] }), sampleContext(waiveAll))
    const everyRule = found.map(({ rule }) => ({ rule, who: 'ada', why: 'all of it', until: null }))
    const findings = applyWaivers(found, everyRule, new Date(0))
    const blocks = findings.some(({ restriction, settled }) => restriction && settled === null)
    expect([changes, blocks]).toEqual([changes, copyWay(disk) === 'never'])
    const plain = evaluate(effective({ disks: [disk] }), sampleContext())
    expect(plain.some(({ restriction }) => restriction)).toBe(copyWay(disk) !== 'while-running')
  }
})

test('the bytes of a disk count as downtime when it is copied while off, or nothing is tracked', () => {
  const disks = [
    sampleDisk({ used: 10 }),
    sampleDisk({ key: '2001', mode: 'independent', used: null, capacity: 512 }),
    sampleDisk({ key: '2002', shared: true, used: 7 }),
  ]
  expect(copiedBytes(disks, true)).toEqual({ all: 522, whileOff: 512 })
  expect(copiedBytes(disks, false)).toEqual({ all: 522, whileOff: 522 })
})

test('where every disk is copied while off, no copy is made while it runs and no tracking is asked for', () => {
  const disks = [sampleDisk({ mode: 'independent' })]
  const tracked = sampleInstance({ disks, background_import: true })
  expect(trackingState(tracked, {})).toBe('off')
  const untracked = evaluate(effective({ disks, background_import: false }), sampleContext())
  expect(untracked.map(({ rule }) => rule)).toEqual(['disk-independent'])
  const mixed = sampleInstance({ disks: [sampleDisk(), sampleDisk({ key: '2001', mode: 'independent' })] })
  expect(trackingState(mixed, { 2000: 'verified' })).toBe('verified')
  expect(trackingState(mixed, {})).toBe('unverified')
})
