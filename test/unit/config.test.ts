import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { limits, readConfig } from '../../src/config.ts'
import { DroverError } from '../../src/errors.ts'
import { tempDir } from '../support/temp.ts'

const refusal = (env: NodeJS.ProcessEnv): DroverError => {
  try {
    readConfig(env)
  } catch (error) {
    if (error instanceof DroverError) return error
    throw error
  }
  throw new Error('The environment was accepted.')
}

test('an empty environment gives the defaults that the manual promises', () => {
  expect(readConfig({})).toMatchObject({
    databaseUrl: undefined,
    redisUrl: undefined,
    host: '127.0.0.1',
    port: 7070,
    workers: 2,
    leaseMs: limits.leaseMs,
    logLevel: 'info',
  })
})

test('a setting that is set to nothing counts as not set', () => {
  expect(readConfig({ DROVER_PORT: '', DATABASE_URL: '' })).toEqual(readConfig({}))
})

test('a configuration cannot be changed after it was read', () => {
  expect(Object.isFrozen(readConfig({}))).toBe(true)
  expect(Object.isFrozen(limits)).toBe(true)
})

test.each([
  ['DATABASE_URL', 'mysql://h/d'],
  ['REDIS_URL', 'http://h'],
  ['DROVER_ADMIN_TOKEN', 'short'],
  ['DROVER_PORT', '65536'],
  ['DROVER_PORT', 'seven'],
  ['DROVER_WORKERS', '-1'],
  ['DROVER_WORKERS', '1.5'],
  ['DROVER_SECRET_KEY', 'ab'],
  ['DROVER_CONCURRENCY', 'self-test'],
  ['DROVER_CONCURRENCY', 'self-test=2,'],
  ['DROVER_LEASE_MS', '0'],
  ['DROVER_DRAIN_MS', '-5'],
  ['DROVER_LOG_LEVEL', 'loud'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'not a url'],
])('a wrong %s ("%s") is refused by its name', (name, value) => {
  const error = refusal({ [name]: value })
  expect(error).toMatchObject({ code: 'config-invalid', class: 'config', field: name })
  expect(error.message).toContain(name)
  expect(error.remedy).toContain(name)
})

test('a refused secret is not repeated in the message', () => {
  for (const name of ['DROVER_SECRET_KEY', 'DATABASE_URL', 'DROVER_ADMIN_TOKEN']) {
    const error = refusal({ [name]: 'hunter2' })
    expect(`${error.message} ${error.remedy}`).not.toContain('hunter2')
  }
})

test('every port number is accepted and comes back as that number', () => {
  fc.assert(
    fc.property(fc.nat(65_535), (port) => {
      expect(readConfig({ DROVER_PORT: String(port) }).port).toBe(port)
    }),
  )
})

test('concurrency is read for each kind that it names', () => {
  const config = readConfig({ DROVER_CONCURRENCY: 'self-test=16,import-ova=2' })
  expect([...config.concurrency]).toEqual([
    ['self-test', 16],
    ['import-ova', 2],
  ])
  expect(readConfig({}).concurrency.size).toBe(0)
})

test('a secret is read from the file that its name with _FILE points to, without the line end', async () => {
  const path = join(await tempDir(), 'url')
  await writeFile(path, 'postgres://u:p@h/d\n')
  expect(readConfig({ DATABASE_URL_FILE: path }).databaseUrl).toBe('postgres://u:p@h/d')
})

test('a secret that is set twice is refused, even with the same value', async () => {
  const path = join(await tempDir(), 'url')
  await writeFile(path, 'postgres://h/d')
  const error = refusal({ DATABASE_URL: 'postgres://h/d', DATABASE_URL_FILE: path })
  expect(error).toMatchObject({ code: 'config-invalid', field: 'DATABASE_URL' })
})

test('a secret file that cannot be read is refused by its setting', async () => {
  const path = join(await tempDir(), 'missing')
  expect(refusal({ REDIS_URL_FILE: path })).toMatchObject({ field: 'REDIS_URL_FILE' })
})

test('a heartbeat fails several times before the lease ends', () => {
  expect(limits.leaseMs / limits.heartbeatMs).toBeGreaterThanOrEqual(3)
})
