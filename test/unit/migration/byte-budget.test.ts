import { expect, test } from 'vitest'
import { ByteBudget } from '../../../src/migration/copy/byte-budget.ts'

const never = () => new Promise<never>(() => {})
const { signal } = new AbortController()

// promise: hung-work
test('copies that hang never hold all the memory that copies have', async () => {
  const budget = new ByteBudget(8)
  let hanging = 0
  for (let at = 0; at < 10; at += 1)
    void budget.spend({ bytes: 1, by: 'dead' }, signal, () => {
      hanging += 1
      return never()
    })
  const done = await Promise.all(
    [1, 2, 3].map((n) => budget.spend({ bytes: 1, by: 'living' }, signal, () => Promise.resolve(n))),
  )
  expect(done).toEqual([1, 2, 3])
  expect(hanging).toBe(4)
})

test('a copy always has its first bytes, and all that leave room have theirs in the order in which they came', async () => {
  const budget = new ByteBudget(2)
  const order: string[] = []
  const spend = (by: string, bytes = 1) =>
    budget.spend({ bytes, by }, signal, async () => {
      order.push(by)
      await Promise.resolve()
    })
  await Promise.all([spend('a'), spend('a'), spend('b'), spend('c'), spend('whole', 5), spend('d')])
  expect(order).toEqual(['a', 'b', 'a', 'c', 'whole', 'd'])
  expect(budget.most).toBe(5)
})

test('whoever no longer wants its bytes leaves the line, and holds nobody up', async () => {
  const budget = new ByteBudget(1)
  let letGo = () => {}
  const first = budget.spend(
    { bytes: 1, by: 'a' },
    signal,
    () => new Promise<void>((resolve) => (letGo = resolve)),
  )
  const leaving = new AbortController()
  const second = budget.spend({ bytes: 1, by: 'b' }, leaving.signal, never)
  const third = budget.spend({ bytes: 1, by: 'c' }, signal, () => Promise.resolve('c'))
  leaving.abort(new Error('enough'))
  await expect(second).rejects.toThrow('enough')
  letGo()
  await first
  expect(await third).toBe('c')
})
