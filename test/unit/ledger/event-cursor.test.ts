import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  compareCursors,
  formatCursor,
  parseCursor,
  requireCursor,
} from '../../../src/ledger/events/event-cursor.ts'

const cursors = fc.record({
  era: fc.integer({ min: 0, max: 32_767 }),
  xid: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String),
  id: fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
})

describe('a cursor', () => {
  test('comes back from its text', () => {
    fc.assert(
      fc.property(cursors, (cursor) => {
        expect(parseCursor(formatCursor(cursor))).toEqual({ ...cursor })
      }),
    )
  })

  test('is ordered by era, then transaction, then id, as numbers', () => {
    const order = ['1-9-9', '1-10-2', '1-10-10', '1-18446744073709551615-1', '2-3-1'].map((text) =>
      requireCursor(text, 'after'),
    )
    const shuffled = [...order].reverse().sort(compareCursors)
    expect(shuffled).toEqual(order)
    fc.assert(
      fc.property(
        cursors,
        cursors,
        (a, b) => Math.sign(compareCursors(a, b)) === -Math.sign(compareCursors(b, a)),
      ),
    )
  })

  test.each([
    '',
    '1',
    '1-2',
    '1-2-3-4',
    'a-b-c',
    '-1-2-3',
    '1-2-3 ',
    '40000-1-1',
    '1-18446744073709551616-1',
    '1-1-9999999999999999',
  ])('"%s" is none', (text) => {
    expect(parseCursor(text)).toBeUndefined()
    expect(() => requireCursor(text, 'after')).toThrow(
      expect.objectContaining({ code: 'cursor-invalid', field: 'after' }),
    )
  })
})
