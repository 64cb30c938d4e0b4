import { describe, expect, test } from 'vitest'
import { GroupCommit } from '../../../src/ledger/jobs/group-commit.ts'

/** A store whose statements end when the test says so. */
const createStore = (options: { max?: number; inFlight?: number } = {}) => {
  const statements: { items: readonly number[]; end: () => void; fail: (error: Error) => void }[] = []
  const group = new GroupCommit<number, string>({
    max: options.max ?? 100,
    ...(options.inFlight === undefined ? {} : { inFlight: options.inFlight }),
    flush: (items) =>
      new Promise((resolve, reject) => {
        statements.push({ items, end: () => resolve(items.map((item) => `ok ${item}`)), fail: reject })
      }),
  })
  return { statements, group }
}
const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('a group commit', () => {
  test('puts what is submitted in one turn into one statement and answers each item in order', async () => {
    const { statements, group } = createStore()
    const answers = Promise.all([1, 2, 3].map((item) => group.submit(item)))
    await turn()
    expect(statements.map(({ items }) => items)).toEqual([[1, 2, 3]])
    statements[0]?.end()
    expect(await answers).toEqual(['ok 1', 'ok 2', 'ok 3'])
  })

  test('gathers what comes while a statement is under way into the next one', async () => {
    const { statements, group } = createStore()
    const first = group.submit(1)
    await turn()
    const later = [group.submit(2), group.submit(3)]
    await turn()
    expect(statements).toHaveLength(1)
    statements[0]?.end()
    await first
    await turn()
    expect(statements[1]?.items).toEqual([2, 3])
    statements[1]?.end()
    expect(await Promise.all(later)).toEqual(['ok 2', 'ok 3'])
  })

  test('never makes a group larger than its limit, and keeps at most so many under way', async () => {
    const { statements, group } = createStore({ max: 2, inFlight: 2 })
    const answers = Promise.all([1, 2, 3, 4, 5].map((item) => group.submit(item)))
    await turn()
    await turn()
    await turn()
    expect(statements.flatMap(({ items }) => items).length).toBeLessThanOrEqual(4)
    for (let at = 0; at < 5; at += 1) {
      for (const statement of statements) statement.end()
      await turn()
    }
    expect(await answers).toHaveLength(5)
    expect(Math.max(...statements.map(({ items }) => items.length))).toBe(2)
  })

  test('a failed statement fails its own items and no others', async () => {
    const { statements, group } = createStore()
    const lost = group.submit(1)
    await turn()
    const kept = group.submit(2)
    statements[0]?.fail(new Error('away'))
    await expect(lost).rejects.toThrow('away')
    await turn()
    statements[1]?.end()
    expect(await kept).toBe('ok 2')
  })

  test('a flush that forgets an item fails all of them rather than answering wrongly', async () => {
    const group = new GroupCommit<number, string>({ max: 9, flush: () => Promise.resolve(['only one']) })
    const both = await Promise.allSettled([group.submit(1), group.submit(2)])
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  })
})
