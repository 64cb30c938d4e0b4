import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { startRedis } from '../../support/redis.ts'
import { settles } from '../../support/wait.ts'

const connect = (url: string) => new Redis(url, { maxRetriesPerRequest: null, retryStrategy: () => 50 })

test('a Redis without persistence loses everything on a restart, on the same port', async () => {
  const server = await startRedis()
  const before = server.pid
  await server.send('SET a 1')
  await server.restart()
  expect(await server.send('GET a')).toBe('$-1')
  expect(server.pid).not.toBe(before)
})

test('a Redis with AOF keeps what it acknowledged over kill -9', async () => {
  const server = await startRedis({ persistence: 'aof' })
  const client = connect(server.url)
  client.on('error', () => {})
  await client.set('a', '1')
  await server.kill()
  await server.restart()
  expect(await client.get('a')).toBe('1')
  client.disconnect()
})

test('a paused Redis answers nothing until it is resumed', async () => {
  const server = await startRedis({ policy: 'allkeys-lru' })
  const client = connect(server.url)
  expect(await client.config('GET', 'maxmemory-policy')).toEqual(['maxmemory-policy', 'allkeys-lru'])
  server.pause()
  const answer = client.ping()
  await expect(settles(answer, { what: 'an answer', withinMs: 200 })).rejects.toThrow(/did not come/)
  server.resume()
  expect(await answer).toBe('PONG')
  client.disconnect()
})
