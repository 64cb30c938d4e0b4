import { expect, test } from 'vitest'
import { onEachBell } from '../../support/bells.ts'

const databases = new Set<string>()

await onEachBell('the ground for tests', (bell) => {
  test('each bell has its own database, and a Redis exactly when it is the Redis bell', async () => {
    databases.add(bell.database.name)
    await bell.database.db`select 1`
    expect('REDIS_URL' in bell.env).toBe(bell.kind === 'redis')
    if (bell.redis) expect(await bell.redis.send('PING')).toBe('+PONG')
  })
})

test('two bells used two databases', () => {
  expect(databases.size).toBe(2)
})
