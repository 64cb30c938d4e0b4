import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import postgres from 'postgres'
import { expect, test } from 'vitest'
import { openDb } from '../../../db/client.ts'
import { enqueue } from '../../../src/ledger/jobs/enqueue.ts'
import { atEnd } from '../../support/cleanup.ts'
import { loginUrl } from '../../support/logins.ts'
import { startOwnPostgres } from '../../support/postgres.ts'
import { startRole } from '../../support/processes.ts'
import { startRedis } from '../../support/redis.ts'
import { expectAlive, startRoles } from '../../support/roles.ts'
import { selfSigned } from '../../support/self-signed.ts'
import { tempDir } from '../../support/temp.ts'
import { until } from '../../support/wait.ts'

const dir = await tempDir('store-tls')
const authority = selfSigned({ name: 'drover test authority' })
const stranger = selfSigned({ name: 'authority of somebody else' })
const signed = selfSigned({ name: 'store', by: authority })
const elsewhere = selfSigned({ name: 'store', host: 'elsewhere.example', by: authority })
const file = async (name: string, text: string): Promise<string> => {
  const path = join(dir, name)
  await writeFile(path, text)
  return path
}
const caFile = await file('ca.pem', authority.cert)
const wrongCaFile = await file('wrong-ca.pem', stranger.cert)

const server = await startOwnPostgres({ tls: signed })
const redis = await startRedis({ tls: signed })
const env = {
  DATABASE_URL: server.url,
  DATABASE_CA_FILE: caFile,
  REDIS_URL: redis.url,
  REDIS_CA_FILE: caFile,
  DROVER_SECRET_KEY: '5e'.repeat(32),
}
const { REDIS_URL: _, REDIS_CA_FILE: __, ...onPostgres } = env

const { DATABASE_CA_FILE: ___, ...named } = onPostgres
const contrary = {
  ...named,
  DATABASE_URL: `${server.url}?sslmode=verify-full&sslrootcert=${encodeURIComponent(caFile)}&ssl=0`,
}

const superuser = () => {
  const db = openDb({ url: server.url, max: 2, applicationName: 'drover-test' })
  atEnd(() => db.end({ timeout: 5 }))
  return db
}

const endsSaying = async (role: 'worker' | 'conductor' | 'migrate', given: NodeJS.ProcessEnv) => {
  const process = await startRole(role, given)
  const exit = await until(() => Promise.race([process.exited, Promise.resolve(undefined)]), {
    what: `the ${role} to end`,
    withinMs: 60_000,
  })
  expect(exit).toMatchObject({ code: 1 })
  return process.output
}

test.each([
  ['Redis', env],
  ['Postgres', onPostgres],
  ['Postgres, where the URL says ssl=0 too,', contrary],
])(
  'over TLS, with an authority of our own: the bell on %s rings, jobs end, nothing is in the clear',
  async (bell, given) => {
    const db = superuser()
    const roles = await startRoles(given, { workers: 1 })
    const jobs = Array.from({ length: 20 }, (_item, at) => ({
      kind: 'self-test',
      payload: {},
      subject: { type: 'self-test', id: `${bell}-${at}` },
      createdBy: 'test',
    }))
    await db.begin((tx) => enqueue(tx, jobs))
    const ended = () => db`select from job where state = 'succeeded' and subject_id like ${`${bell}-%`}`
    await until(async () => (await ended()).length === 20, { what: 'the jobs to end', withinMs: 60_000 })
    const sessions = await db<{ name: string; ssl: boolean }[]>`
    select distinct application_name as name, ssl from pg_stat_activity join pg_stat_ssl using (pid)
    where backend_type = 'client backend' and usename like 'drover\\_%\\_login'`
    expect(sessions.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['drover-worker', 'drover-conductor']),
    )
    expect(sessions.map(({ name }) => name).includes('drover-bell')).toBe(bell !== 'Redis')
    expect(sessions.filter(({ ssl }) => !ssl)).toEqual([])
    expectAlive(...roles.conductors, ...roles.workers)
  },
)

test('the schema is made over TLS too', async () => {
  expect(await (await startRole('migrate', onPostgres)).exited).toMatchObject({ code: 0 })
})

// promise: store-certificate
test.each(['migrate', 'worker', 'conductor'] as const)(
  'a Postgres of another authority is refused by the %s, in words that say what to do',
  async (role) => {
    const said = await endsSaying(role, { ...env, DATABASE_CA_FILE: wrongCaFile })
    expect(said).toMatch(/certificate of Postgres .*not accepted/)
    expect(said).toContain('DATABASE_CA_FILE')
    expect(said).not.toMatch(/defect in Drover|\n {4}at /)
  },
)

test.each(['worker', 'conductor'] as const)(
  'a Redis of another authority is refused by the %s, in words that say what to do',
  async (role) => {
    const said = await endsSaying(role, { ...env, REDIS_CA_FILE: wrongCaFile })
    expect(said).toMatch(/certificate of Redis .*not accepted/)
    expect(said).toContain('REDIS_CA_FILE')
    expect(said).not.toMatch(/defect in Drover|\n {4}at /)
  },
)

test('an API goes on without a Redis that it does not accept, and its log says why', async () => {
  const given = {
    ...env,
    REDIS_CA_FILE: wrongCaFile,
    DROVER_ADMIN_TOKEN: 'a-token-of-a-test',
    DROVER_PORT: '0',
  }
  const api = await startRole('api', given)
  const [, port] = await api.line(/"port":(\d+).*api runs/)
  expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(503)
  await api.line(/"level":"error".*certificate of Redis is not accepted/)
  expectAlive(api)
})

test('without the setting, an authority of our own is unknown', async () => {
  const { REDIS_CA_FILE: _file, ...given } = env
  expect(await endsSaying('worker', given)).toMatch(/certificate of Redis .*not accepted/)
  const { DATABASE_CA_FILE: _other, ...rest } = onPostgres
  const url = `${server.url}?sslmode=verify-full`
  expect(await endsSaying('worker', { ...rest, DATABASE_URL: loginUrl(url, 'worker') })).toMatch(
    /certificate of Postgres .*not accepted/,
  )
})

test('a store that shows the certificate of another address is refused, whoever signed it', async () => {
  const other = await startRedis({ tls: elsewhere })
  expect(await endsSaying('worker', { ...env, REDIS_URL: other.url })).toMatch(
    /certificate of Redis .*does not match/,
  )
  const shown = await startOwnPostgres({ tls: elsewhere, migrate: false })
  expect(await endsSaying('migrate', { ...onPostgres, DATABASE_URL: shown.url })).toMatch(
    /certificate of Postgres .*does not match/,
  )
})

// promise: store-certificate
test('an authority beside a URL that turns the check off is refused, and nothing is asked of Postgres', async () => {
  const said = await endsSaying('migrate', { ...onPostgres, DATABASE_URL: `${server.url}?ssl=no-verify` })
  expect(said).toMatch(/DATABASE_URL has the parameter ssl, .*DATABASE_CA_FILE/)
})

test('of several hosts the first is used, by migrate and by the bell on Postgres', async () => {
  const plain = await startOwnPostgres({ migrate: false })
  const as = (who: 'owner' | 'worker') => ({
    DROVER_SECRET_KEY: env.DROVER_SECRET_KEY,
    DATABASE_URL: loginUrl(plain.url, who).replace(/@([^/]+)/, '@$1,127.0.0.1:1'),
  })
  const migrate = await startRole('migrate', as('owner'))
  expect(await migrate.exited, migrate.output).toMatchObject({ code: 0 })
  const worker = await startRole('worker', as('worker'))
  await worker.line(/worker runs/)
  const other = as('owner').DATABASE_URL.replace(/\/[^/]*$/, '/nowhere')
  const said = await endsSaying('migrate', { ...as('owner'), DATABASE_URL: other })
  expect(said).toMatch(/Postgres at 127\.0\.0\.1:\d+\/nowhere refuses us/)
  expect(said).not.toMatch(/defect in Drover|\n {4}at /)
})

// promise: store-certificate
test('a Postgres that offers no TLS gets no password', async () => {
  const plain = await startOwnPostgres({ migrate: false })
  const said = await endsSaying('migrate', { ...onPostgres, DATABASE_URL: plain.url })
  expect(said).toContain('DATABASE_URL')
  const db = postgres(plain.url, { max: 1 })
  atEnd(() => db.end({ timeout: 5 }))
  expect(await db`select from pg_stat_activity where application_name = 'drover-migrate'`).toHaveLength(0)
})
