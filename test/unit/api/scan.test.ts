import { expect, test } from 'vitest'
import { FilterTurns } from '../../../src/api/http/filter-turns.ts'
import { type ScanOptions, scan } from '../../../src/api/lists/scan.ts'
import { metered, spend } from '../../../src/domain/filter/meter.ts'

interface Row {
  readonly id: string
}

const rows = (count: number): Row[] =>
  Array.from({ length: count }, (_, at) => ({ id: String(at).padStart(6, '0') }))

/** Looks through `count` rows with a clock that `work` moves on. */
const look = async (count: number, options: Partial<ScanOptions<Row>> & { rowMs?: number } = {}) => {
  let nowMs = 0
  const read: number[] = []
  const all = rows(count)
  const found: string[] = []
  const outcome = await scan<Row>({
    clock: { monotonicMs: () => nowMs } as never,
    budgetMs: 1_000,
    slices: undefined,
    limit: Number.POSITIVE_INFINITY,
    after: undefined,
    read: async (after, limit) => {
      read.push(limit)
      return all.filter(({ id }) => after === undefined || id > after).slice(0, limit)
    },
    onMatch: ({ id }) => found.push(id),
    ...options,
    test: (row) => {
      nowMs += options.rowMs ?? 0
      return options.test ? options.test(row) : true
    },
  })
  return { outcome, found, read }
}

test.each([0, 1, 999, 1_000, 1_001, 2_500])('all of %i rows are looked at once, in parts', async (count) => {
  const { outcome, found, read } = await look(count)
  expect(outcome).toMatchObject({ matched: count, scanned: count, next: null })
  expect(found).toEqual(rows(count).map(({ id }) => id))
  expect(read[0]).toBe(200)
  expect(read.slice(1).every((rows) => rows === 1_000)).toBe(true)
})

test.each([1, 7, 1_000])('pages of %i follow each other without a gap or a repeat', async (limit) => {
  const found: string[] = []
  let pages = 0
  for (let after: string | undefined | null; after !== null; pages += 1) {
    const part = await look(2_100, { limit, after, test: ({ id }) => Number(id) % 3 === 0 })
    found.push(...part.found)
    after = part.outcome.next
    expect(part.found.length).toBeLessThanOrEqual(limit)
  }
  expect(found).toEqual(rows(2_100).flatMap(({ id }) => (Number(id) % 3 === 0 ? [id] : [])))
  expect(pages).toBeGreaterThanOrEqual(Math.ceil(700 / limit))
})

test('one slow row after the other ends with the time, not with the page, and at least one is done', async () => {
  const slow = await look(5_000, { rowMs: 100 })
  expect(slow.outcome.scanned).toBeLessThan(20)
  expect(slow.outcome.next).toBe(slow.found.at(-1))
  const slowest = await look(5_000, { rowMs: 60_000 })
  expect(slowest.outcome).toMatchObject({ scanned: 1 })
})

test('where each row takes long, few are read at once', async () => {
  const { read } = await look(2_000, { test: () => metered(() => spend(50_000)) === undefined })
  expect(read.length).toBeGreaterThan(10)
  expect(read.slice(1).every((rows) => rows === 100)).toBe(true)
})

test('others get their turn while a slow filter works', async () => {
  let turns = 0
  let going = true
  const others = () => {
    turns += 1
    if (going) setImmediate(others)
  }
  setImmediate(others)
  let nowMs = 0
  const turnTaker = new FilterTurns({ clock: { monotonicMs: () => nowMs } })
  const test = () => {
    nowMs += 25
    return true
  }
  await turnTaker.ask({ actor: 'ada', filter: 'true' }, (slices) => look(100, { test, slices }))
  going = false
  expect(turns).toBeGreaterThan(50)
})

test('what cannot be judged is counted, and the first are named', async () => {
  const { outcome } = await look(100, {
    test: ({ id }) => {
      if (Number(id) % 2 === 0) throw new Error(`no key in ${id}`)
      return true
    },
  })
  expect(outcome).toMatchObject({ matched: 50, scanned: 100, errorCount: 50 })
  expect(outcome.errors).toHaveLength(20)
  expect(outcome.errors[0]).toEqual({ id: '000000', message: 'no key in 000000' })
})
