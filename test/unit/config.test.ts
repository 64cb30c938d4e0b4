import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { rootCertificates } from 'node:tls'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { limits, readConfig } from '../../src/config/config.ts'
import { environment } from '../../src/config/config-environment.ts'
import { loginToMake } from '../../src/config/database-urls.ts'
import { DroverError } from '../../src/errors.ts'
import { selfSigned } from '../support/self-signed.ts'
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
  ['DROVER_SECRET_KEYS_OLD', `${'ab'.repeat(32)},`],
  ['DROVER_SECRET_KEYS_OLD', `${'ab'.repeat(32)};${'ab'.repeat(32)}`],
  ['DROVER_CONCURRENCY', 'self-test'],
  ['DROVER_CONCURRENCY', 'self-test=2,'],
  ['DROVER_LEASE_MS', '0'],
  ['DROVER_DRAIN_MS', '-5'],
  ['DROVER_LOG_LEVEL', 'loud'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'not a url'],
  ['DATABASE_URL', 'postgres://drover:pa#ss@h/d'],
  ['DROVER_WORKER_DATABASE_URL', 'postgres://drover:100%@h/d'],
  ['REDIS_URL', 'redis://:pa/ss@h:x'],
  ['DROVER_ADMIN_TOKEN', 'x'.repeat(257)],
  ['DROVER_LAB', 'yes'],
  ['DROVER_LAB_WORLD', 'huge'],
  ['DROVER_LAB_TLS', 'true'],
  ['DROVER_LAB_PASSWORD', 'short'],
  ['DROVER_HEALTH_PORT', ''.padEnd(3)],
  ['DROVER_EVENTS_KEPT_DAYS_MIN', '0'],
  ['DROVER_STATEMENT_MS', '1e99'],
  ['DROVER_WORKERS', '0x10'],
  ['DROVER_PUBLIC_URL', 'drover.example.com'],
  ['DROVER_TRUSTED_PROXIES', '*'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'ftp://collector'],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'x'],
])('a wrong %s ("%s") is refused by its name, in plain words and with an example', (name, value) => {
  const error = refusal({ [name]: value })
  expect(error).toMatchObject({ code: 'config-invalid', class: 'config', field: name })
  expect(error.message).toMatch(new RegExp(`^${name} must be .+, such as .+\\.$`))
  expect(error.message).not.toMatch(/expected|received|invalid|NaN|too (big|small)/i)
  expect(error.remedy).toContain(name)
})

test('the example that a refusal gives is itself accepted', async () => {
  const authorities = join(await tempDir(), 'ca.pem')
  await writeFile(authorities, rootCertificates[0] ?? '')
  for (const name of Object.keys(environment.shape)) {
    const { mustBe } = environment.shape[name as keyof typeof environment.shape].meta() ?? {}
    const [, example = ''] = /, such as (.+)$/.exec(String(mustBe)) ?? []
    expect([name, example]).not.toEqual([name, ''])
    // A file of authorities is read at once, and this machine has none of that name.
    const made = name.endsWith('_CA_FILE') ? authorities : '5e'.repeat(32)
    const value = example.includes('openssl') || name.endsWith('_CA_FILE') ? made : example
    expect(() => readConfig({ [name]: value }), name).not.toThrow()
  }
})

test('the URL of a login that is to be made names a user and a password, or is refused by its setting', () => {
  expect(loginToMake('DATABASE_URL', 'postgres://a%20b:c%2Fd@h/d')).toEqual({ name: 'a b', password: 'c/d' })
  for (const url of ['postgres://h/d', 'postgres://user@h/d', 'postgres://:hunter2@h/d'])
    expect(() => loginToMake('DROVER_API_DATABASE_URL', url)).toThrow(
      expect.objectContaining({
        code: 'config-invalid',
        field: 'DROVER_API_DATABASE_URL',
        message: expect.stringMatching(
          /^DROVER_API_DATABASE_URL must name a user and a password(?!.*hunter2)/,
        ),
      }),
    )
})

test('a refused secret is not repeated in the message', () => {
  for (const name of ['DROVER_SECRET_KEY', 'DROVER_SECRET_KEYS_OLD', 'DATABASE_URL', 'DROVER_ADMIN_TOKEN']) {
    const error = refusal({ [name]: 'hunter2' })
    expect(`${error.message} ${error.remedy}`).not.toContain('hunter2')
  }
})

test('old keys are read one by one, from a file too', async () => {
  const [a, b] = ['0a'.repeat(32), '0b'.repeat(32)]
  const path = join(await tempDir(), 'old')
  await writeFile(path, `${a}, ${b}\n`)
  expect(readConfig({ DROVER_SECRET_KEYS_OLD_FILE: path }).oldSecretKeys).toEqual([a, b])
  expect(readConfig({}).oldSecretKeys).toEqual([])
})

test('every port number is accepted and comes back as that number', () => {
  fc.assert(
    fc.property(fc.nat(65_535), (port) => {
      expect(readConfig({ DROVER_PORT: String(port) }).port).toBe(port)
    }),
  )
})

test('concurrency is read for each kind that it names', () => {
  const config = readConfig({ DROVER_CONCURRENCY: 'self-test=16,final-verify=2' })
  expect([...config.concurrency]).toEqual([
    ['self-test', 16],
    ['final-verify', 2],
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
  const error = refusal({ REDIS_URL_FILE: path })
  expect(error).toMatchObject({ field: 'REDIS_URL_FILE' })
  expect(error.message).toBe(`REDIS_URL_FILE names ${path}, which cannot be read: there is no such file.`)
  expect(error.remedy).toContain('a file')
})

test('a heartbeat fails several times before the lease ends', () => {
  expect(limits.leaseMs / limits.heartbeatMs).toBeGreaterThanOrEqual(3)
})

test('an authority of our own goes with every database URL, in the words of Postgres', async () => {
  const path = join(await tempDir('ca'), 'ca.pem')
  await writeFile(path, `What signs our stores\n${selfSigned().cert}`)
  const checked = `sslmode=verify-full&sslrootcert=${encodeURIComponent(path)}`
  const config = readConfig({
    DATABASE_URL: 'postgres://a:b@db:5433/drover?sslmode=require',
    DROVER_SETUP_DATABASE_URL: 'postgres://s@db/drover',
    DROVER_WORKER_DATABASE_URL: 'postgres://w@db/drover',
    DATABASE_CA_FILE: path,
    REDIS_URL: 'rediss://r:6380',
    REDIS_CA_FILE: path,
  })
  expect(config).toMatchObject({
    databaseUrl: `postgres://a:b@db:5433/drover?${checked}`,
    setupDatabaseUrl: `postgres://s@db/drover?${checked}`,
    roleUrls: { worker: `postgres://w@db/drover?${checked}` },
    redisCa: expect.stringMatching(/^-----BEGIN CERTIFICATE-----/),
  })
})

test('an authority that could not be checked is refused by the name of its setting', async () => {
  const dir = await tempDir('ca')
  const good = join(dir, 'ca.pem')
  await writeFile(good, selfSigned().cert)
  const empty = join(dir, 'empty.pem')
  await writeFile(empty, 'nothing')
  const broken = join(dir, 'broken.pem')
  await writeFile(broken, '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n')
  const url = 'postgres://h/d'
  for (const path of [empty, broken, join(dir, 'none.pem')]) {
    expect(refusal({ DATABASE_URL: url, DATABASE_CA_FILE: path })).toMatchObject({
      field: 'DATABASE_CA_FILE',
    })
    expect(refusal({ REDIS_URL: 'rediss://h', REDIS_CA_FILE: path })).toMatchObject({
      field: 'REDIS_CA_FILE',
    })
  }
  expect(refusal({ REDIS_URL: 'redis://h', REDIS_CA_FILE: good })).toMatchObject({
    field: 'REDIS_URL',
    remedy: 'Let REDIS_URL begin with rediss:// when that Redis speaks TLS; otherwise unset REDIS_CA_FILE.',
  })
})

test('a file of authorities that cannot be used is refused in words, without what Node says of it', async () => {
  const dir = await tempDir('ca')
  const empty = join(dir, 'empty.pem')
  await writeFile(empty, 'nothing')
  const broken = join(dir, 'broken.pem')
  await writeFile(broken, '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n')
  const why = [
    [join(dir, 'none.pem'), 'which cannot be read: there is no such file'],
    [dir, 'which cannot be read: it is a folder'],
    [empty, 'which holds no certificate (PEM)'],
    [broken, 'which holds a certificate that is damaged'],
  ] as const
  for (const [path, said] of why) {
    const error = refusal({ DATABASE_URL: 'postgres://h/d', DATABASE_CA_FILE: path })
    expect(error.message).toBe(`DATABASE_CA_FILE names ${path}, ${said}.`)
    expect(error.remedy).toMatch(/^Let DATABASE_CA_FILE name a file .*certificates/)
  }
})

test.each([
  ...['sslmode=disable', 'sslmode=prefer', 'sslmode=no-verify', 'sslmode=require&sslmode=disable'],
  ...['ssl=0', 'ssl=no-verify', 'ssl=true', 'sslcert=/c', 'sslkey=/k', 'uselibpqcompat=true'],
  'sslmode=verify-full&ssl=0',
])('an authority is refused together with a database URL that says otherwise by %s', async (said) => {
  const good = join(await tempDir('ca'), 'ca.pem')
  await writeFile(good, selfSigned().cert)
  const given = { DATABASE_URL: 'postgres://h/d', DATABASE_CA_FILE: good }
  const url = `postgres://w:hunter2@h/d?${said}`
  for (const setting of ['DATABASE_URL', 'DROVER_WORKER_DATABASE_URL', 'DROVER_SETUP_DATABASE_URL']) {
    const error = refusal({ ...given, [setting]: url })
    const [, word = ''] = /(\w+)=[^=]+$/.exec(said) ?? []
    expect(error.field).toBe(setting)
    expect(error.message).toMatch(new RegExp(`^${setting} has the parameter ${word}, .*DATABASE_CA_FILE`))
    expect(error.remedy).toBe(`Take ${word} out of ${setting}, or unset DATABASE_CA_FILE.`)
    expect(error.message).not.toContain('hunter2')
    expect(readConfig({ DATABASE_URL: url }).databaseUrl).toBe(url)
  }
})

test.each(['a:5432,b:5432', 'a,b', '[::1]:1,b:2'])(
  'a database URL with several hosts (%s) goes to the drivers as it is, and is refused where one must be checked',
  async (hosts) => {
    const good = join(await tempDir('ca'), 'ca.pem')
    await writeFile(good, selfSigned().cert)
    const url = `postgres://u:p@${hosts}/db`
    expect(readConfig({ DATABASE_URL: url }).databaseUrl).toBe(url)
    for (const given of [
      { DATABASE_URL: url, DATABASE_CA_FILE: good },
      { DATABASE_URL: `${url}?sslmode=verify-full` },
    ]) {
      const error = refusal(given)
      expect(error).toMatchObject({ field: 'DATABASE_URL', class: 'config' })
      expect(error.message).toMatch(/^DATABASE_URL names several hosts/)
    }
  },
)

test('a comma in a password is not one between hosts', () => {
  const url = 'postgres://u:a,b@h:5432/db'
  expect(readConfig({ DATABASE_URL: url }).databaseUrl).toBe(url)
})

test('authorities of a store that no URL names are not looked at', () => {
  const none = { DATABASE_CA_FILE: '/nowhere/ca.pem', REDIS_CA_FILE: '/nowhere/ca.pem' }
  expect(readConfig(none)).toEqual(readConfig({}))
})
