import { readFileSync, statSync } from 'node:fs'
import { expect, test } from 'vitest'
import { listAccessTokens } from '../../../db/queries/access/access-tokens.ts'
import { findAccessTokenByHash } from '../../../db/queries/access/find-access-token.ts'
import { ensureAdminToken, hashSecret, newSecret } from '../../../src/api/access/tokens.ts'
import { withBriefAdmin } from '../../../src/standalone/brief-admin.ts'
import { localTokenPath } from '../../../src/standalone/local-door.ts'
import { keepLocalToken, startLocalToken } from '../../../src/standalone/local-token.ts'
import { createDatabase } from '../../support/postgres.ts'
import { tempDir } from '../../support/temp.ts'

const hourMs = 3_600_000
const { db, url: databaseUrl } = await createDatabase()
await ensureAdminToken(db, newSecret())

const names = async () =>
  (await listAccessTokens(db, { before: undefined, limit: 100 })).map(({ name }) => name)
const kept = (dir: string) => readFileSync(localTokenPath(dir), 'utf8').trim()

// promise: local-token
test('the local token ends within a day, and that of the start before at once; the list does not grow', async () => {
  const dir = await tempDir('token')
  const first = await startLocalToken(db, dir)
  expect(kept(dir)).toBe(first)
  expect(statSync(localTokenPath(dir)).mode & 0o777).toBe(0o600)
  const before = await names()
  for (let at = 0; at < 3; at += 1) {
    await startLocalToken(db, dir)
    await withBriefAdmin(databaseUrl, async () => {})
  }
  await startLocalToken(db, dir)
  expect(await findAccessTokenByHash(db, hashSecret(first))).toBeUndefined()
  expect((await names()).length).toBe(before.length)
  const [row] = await listAccessTokens(db, { before: undefined, limit: 1 })
  expect(row).toMatchObject({ role: 'operator', revokedAt: null })
  const leftMs = (row?.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY) - Date.now()
  expect(leftMs).toBeGreaterThan(23 * hourMs)
  expect(leftMs).toBeLessThanOrEqual(24 * hourMs)
})

test('a start leaves the token of another machine over the same database alive', async () => {
  const [here, there] = [await tempDir('token'), await tempDir('token')]
  const theirs = await startLocalToken(db, there)
  await startLocalToken(db, here)
  await startLocalToken(db, here)
  expect(await findAccessTokenByHash(db, hashSecret(theirs))).toMatchObject({
    revoked: false,
    expired: false,
  })
})

test('a running supervisor renews the token long before its end, and goes on when the database was away', async () => {
  const dir = await tempDir('token')
  const first = await startLocalToken(db, dir)
  const said: string[] = []
  const ending = new AbortController()
  let [nowMs, looks] = [0, 0]
  let url = 'postgres://nobody@127.0.0.1:1/nothing'
  const clock = {
    now: () => nowMs,
    // Each look is an hour after the one before; the database comes back after the first failure.
    sleep: async () => {
      nowMs += hourMs
      looks += 1
      if (said.length > 0) url = databaseUrl
      if (kept(dir) !== first) ending.abort()
    },
  }
  await keepLocalToken({
    get databaseUrl() {
      return url
    },
    dataDir: dir,
    clock,
    signal: ending.signal,
    say: (text) => said.push(text),
  })
  expect(said).toEqual([expect.stringMatching(/could not be renewed, which is tried again/)])
  expect(looks).toBeGreaterThan(12)
  expect(looks).toBeLessThan(16)
  const [now, before] = [kept(dir), first].map((secret) => findAccessTokenByHash(db, hashSecret(secret)))
  expect(await now).toMatchObject({ revoked: false, expired: false, role: 'operator' })
  // What read the file just before goes on with what it has.
  expect(await before).toMatchObject({ revoked: false, expired: false })
})
