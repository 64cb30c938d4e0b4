import { expect, test } from 'vitest'
import { RedisBell } from '../../src/ledger/bell-redis.ts'
import { createLog } from '../../src/log.ts'
import { atEnd } from '../support/cleanup.ts'
import { startRedis } from '../support/redis.ts'
import { until } from '../support/wait.ts'

const bellOn = (url: string) => {
  const lines: string[] = []
  const log = createLog({ role: 'test', level: 'warn', destination: { write: (line) => lines.push(line) } })
  const bell = new RedisBell({ url, log })
  atEnd(() => bell.close())
  return { bell, lines }
}

test('a Redis that evicts is refused, by the name of its setting', async () => {
  const redis = await startRedis({ policy: 'allkeys-lru' })
  const { bell } = bellOn(redis.url)
  await until(
    () =>
      bell.check().then(
        () => true,
        () => false,
      ),
    { what: 'Redis to answer' },
  )
  await expect(bell.prepare()).rejects.toMatchObject({
    code: 'redis-evicts',
    class: 'config',
    field: 'REDIS_URL',
    message: expect.stringContaining('allkeys-lru'),
  })
})

test.each([
  ['none', 1],
  ['aof', 0],
] as const)('a Redis with persistence "%s" is taken, with %i warnings', async (persistence, warnings) => {
  const redis = await startRedis({ persistence })
  const { bell, lines } = bellOn(redis.url)
  await until(
    () =>
      bell.check().then(
        () => true,
        () => false,
      ),
    { what: 'Redis to answer' },
  )
  await bell.prepare()
  expect(lines.filter((line) => line.includes('keeps nothing on disk'))).toHaveLength(warnings)
})
