import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { inOrder } from '../../../db/in-order.ts'
import { releaseReasons } from '../../../src/domain/job/release.ts'
import { jobTable } from '../../../src/domain/job/state.ts'
import { bellId } from '../../../src/ledger/bell/bell.ts'
import { windowFor } from '../../../src/ledger/bell/relay.ts'
import { debtDelayMs } from '../../../src/ledger/conductor/sweeps.ts'
import { fullTokens } from '../../../src/ledger/jobs/admission.ts'
import { readSource } from '../repository/sources.ts'

describe("the relay's window", () => {
  test('is closed without a worker, else twice the slots at least, and never above its limit', () => {
    fc.assert(
      fc.property(
        fc.nat(5_000),
        fc.double({ min: 0, max: 1e6, noNaN: true }),
        fc.integer({ min: 1, max: 9_999 }),
        (slots, rate, max) => {
          const window = windowFor(slots, rate, max)
          if (slots === 0) expect(window).toBe(0)
          else expect(window).toBeGreaterThanOrEqual(Math.min(max, slots * 2))
          expect(window).toBeLessThanOrEqual(max)
          expect(Number.isInteger(window)).toBe(true)
        },
      ),
    )
  })

  test('opens as fast as jobs run, by a quarter of a second of them', () => {
    expect([windowFor(10, 0, 9_999), windowFor(10, 400, 9_999), windowFor(10, 4_001, 9_999)]).toEqual([
      20, 120, 1_021,
    ])
  })
})

test("a ring's id differs whenever job, generation or publish do", () => {
  const ring = fc.record({ id: fc.uuid(), generation: fc.nat(50), publish: fc.nat(50) })
  fc.assert(
    fc.property(ring, ring, (a, b) => {
      const same = a.id === b.id && a.generation === b.generation && a.publish === b.publish
      expect(bellId(a) === bellId(b)).toBe(same)
    }),
  )
})

test("rows in order are the same rows, the same order for everybody, and the caller's list is left alone", () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.uuid(), { maxLength: 30 }), (ids) => {
      const rows = ids.map((id) => ({ id }))
      const before = [...rows]
      const ordered = inOrder(rows)
      expect(ordered).toEqual(inOrder([...rows].reverse()))
      expect(new Set(ordered)).toEqual(new Set(rows))
      expect(rows).toEqual(before)
    }),
  )
})

test('a token is full exactly when its holders reach the limit in force', () => {
  fc.assert(
    fc.property(fc.nat(20), fc.nat(20), (held, limit) => {
      const full = fullTokens(['link/x'], new Map([['link/x', held]]), new Map([['link/x', limit]]))
      expect(full).toEqual(held >= limit ? ['link/x'] : [])
    }),
  )
})

test('a debt rests for seconds at first and never for more than an hour', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 10_000 }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (tries, dice) => {
        const ms = debtDelayMs(tries, dice)
        expect(ms).toBeGreaterThanOrEqual(5_000)
        expect(ms).toBeLessThanOrEqual(3_600_000)
      },
    ),
  )
})

describe('docs/jobs.md', () => {
  const text = readSource('docs/jobs.md')
  const diagram = /```mermaid\nstateDiagram-v2\n([\s\S]*?)```/.exec(text)?.[1] ?? ''
  const drawn = [...diagram.matchAll(/^ +(\S+) --> (\S+)(?:: (.+))?$/gm)].map(
    ([, from, to, events = '']) => ({ from, to, events }),
  )

  test('draws the transition table as the code has it, edge by edge', () => {
    const edges = drawn
      .filter(({ from, to }) => from !== '[*]' && to !== '[*]')
      .flatMap(({ from, to, events }) => events.split(', ').map((event) => `${from} ${event} ${to}`))
    const table = jobTable.moves.flatMap(({ from, event, to }) =>
      from.map((state) => `${state} ${event} ${to}`),
    )
    expect(edges.sort()).toEqual(table.sort())
  })

  test('has a row for each reason of a release', () => {
    const rows = [...text.matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, word]) => word)
    expect(rows).toEqual(expect.arrayContaining([...releaseReasons]))
  })

  test('draws where a job begins and where it ends', () => {
    const outside = drawn
      .filter(({ from, to }) => from === '[*]' || to === '[*]')
      .map(({ from, to }) => `${from} ${to}`)
    expect(outside.sort()).toEqual(['[*] ready', ...jobTable.terminal.map((state) => `${state} [*]`)].sort())
  })
})
