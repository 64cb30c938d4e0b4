import { expect, test } from 'vitest'
import { createSealer, secretKeyId } from '../../src/seal/seal.ts'
import { enterKey } from '../../src/sealing/key-check.ts'
import { createDatabase } from '../support/postgres.ts'
import { type Role, startRole } from '../support/processes.ts'
import { startWorker } from '../support/roles.ts'
import { hookUrl, makeFormer, openWorld, sealWorld } from '../support/sealed-world.ts'
import { settles, until } from '../support/wait.ts'

const [oldKey, newKey] = ['0a'.repeat(32), '0b'.repeat(32)]
const withinMs = 90_000

const setUp = async () => {
  const { db, url } = await createDatabase()
  await sealWorld(db, oldKey)
  const start = (role: Role, key: string, old = '') =>
    startRole(role, {
      ...{ DATABASE_URL: url, DROVER_SECRET_KEY: key, DROVER_SECRET_KEYS_OLD: old, DROVER_LEASE_MS: '2000' },
    })
  const end = async (role: Role, key: string, old?: string) => {
    const process = await start(role, key, old)
    const { code } = await settles(process.exited, { what: `the ${role} to end`, withinMs })
    return { code, said: process.output }
  }
  return { db, url, end }
}

// promise: secret-key
test.each(['worker', 'conductor', 'api', 'migrate'] as const)(
  'a %s whose key is not the one of the database does not start, and says which key it is',
  async (role) => {
    const { db, end } = await setUp()
    await enterKey(db, createSealer(oldKey))
    const { code, said } = await end(role, newKey)
    expect(code).toBe(1)
    expect(said).toContain(`sealed with the secret key ${secretKeyId(oldKey)}`)
    expect(said).toContain(secretKeyId(newKey))
    for (const key of [oldKey, newKey]) expect(said).not.toContain(key)
    const [jobs] = await db<{ registered: number }[]>`select count(*)::int as registered from worker`
    expect(jobs?.registered).toBe(0)
  },
)

test('a worker refuses a database of the version before, migrate seals it anew, and then the worker starts', async () => {
  const { db, url, end } = await setUp()
  await makeFormer(db, oldKey)
  expect(await end('worker', oldKey)).toMatchObject({
    code: 1,
    said: expect.stringContaining('drover migrate'),
  })
  expect((await end('migrate', oldKey)).code).toBe(0)
  await startWorker({ DATABASE_URL: url, DROVER_SECRET_KEY: oldKey })
  expect(await openWorld(db, createSealer(oldKey))).toMatchObject({ url: hookUrl })
})

// promise: secret-key
test('a rekey beside running workers: one with both keys goes on, one without the new key drains and ends', async () => {
  const { db, url, end } = await setUp()
  const base = { DATABASE_URL: url, DROVER_LEASE_MS: '2000' }
  const poor = await startWorker({ ...base, DROVER_SECRET_KEY: oldKey })
  const rich = await startWorker({ ...base, DROVER_SECRET_KEY: oldKey, DROVER_SECRET_KEYS_OLD: newKey })
  await enterKey(db, createSealer(oldKey))
  const rekeyed = end('rekey', newKey, oldKey)
  expect(await settles(poor.exited, { what: 'the worker without the key to end', withinMs })).toMatchObject({
    code: 0,
  })
  const { code, said } = await rekeyed
  expect([code, said]).toEqual([0, expect.stringContaining('4 secrets were sealed anew')])
  expect(await openWorld(db, createSealer(newKey))).toMatchObject({ url: hookUrl })
  // It would go on to seal with the key that was replaced.
  await until(() => !rich.running, { what: 'the worker with the replaced key to end', withinMs })
  await startWorker({ ...base, DROVER_SECRET_KEY: newKey, DROVER_SECRET_KEYS_OLD: oldKey })
  await startWorker({ ...base, DROVER_SECRET_KEY: newKey })
})
