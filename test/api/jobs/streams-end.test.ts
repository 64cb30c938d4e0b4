import { expect, onTestFinished, test } from 'vitest'
import { createApi } from '../../../src/api/app.ts'
import { createDatabase } from '../../support/postgres.ts'
import { settles, until } from '../../support/wait.ts'
import { depsOver, startFeed, strangerOf, tokensFor } from '../setup.ts'

const { db } = await createDatabase()

/** Opens a stream and gives what resolves when the API ends it. */
const open = async (api: ReturnType<typeof createApi>, path: string, headers: Record<string, string>) => {
  const response = await api.request(
    `http://127.0.0.1:7070${path}`,
    { headers },
    { incoming: { socket: { remoteAddress: '127.0.0.1' } } },
  )
  expect(response.status).toBe(200)
  const reader = response.body?.getReader()
  if (!reader) throw new Error('There is no stream.')
  onTestFinished(() => void reader.cancel().catch(() => {}))
  await reader.read()
  return async () => {
    for (;;) if ((await reader.read()).done) return
  }
}

// promise: token-ends
test.each(['revoked', 'expired', 'deleted'])('a stream ends with its token: %s', async (how) => {
  const api = createApi(depsOver(db, { events: startFeed(db) }))
  const { viewer, admin } = await tokensFor(db)
  const [ended, other] = [
    await open(api, '/v1/events/stream', { authorization: `Bearer ${viewer}` }),
    await open(api, '/v1/events/stream', { authorization: `Bearer ${admin}` }),
  ]
  let othersEnd = false
  void other().then(() => {
    othersEnd = true
  })
  if (how === 'revoked') await db`update access_token set revoked_at = now() where role = 'viewer'`
  if (how === 'expired') await db`update access_token set expires_at = now() where role = 'viewer'`
  if (how === 'deleted') await db`delete from access_token where role = 'viewer'`
  await settles(ended(), { what: 'the stream to end' })
  expect(othersEnd).toBe(false)
})

// promise: token-ends
test('a stream ends with the session that opened it', async () => {
  const deps = depsOver(db, { events: startFeed(db) })
  const api = createApi(deps)
  const call = strangerOf(deps)
  const { viewer } = await tokensFor(db)
  const entered = await call('POST', '/login', {
    raw: new URLSearchParams({ token: viewer }).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })
  const cookie = (entered.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
  const ended = await open(api, '/v1/events/stream', { cookie })
  await call('POST', '/logout', { headers: { cookie } })
  await settles(ended(), { what: 'the stream to end' })
})

test('a long answer ends with its token, also while its reader takes nothing', async () => {
  const deps = depsOver(db)
  const api = createApi(deps)
  const { viewer } = await tokensFor(db)
  const response = await api.request('http://127.0.0.1:7070/v1/assessment?format=csv', {
    headers: { authorization: `Bearer ${viewer}` },
  })
  const reader = response.body?.getReader()
  expect(new TextDecoder().decode((await reader?.read())?.value)).toContain(',')
  expect(deps.streams.size).toBe(1)
  await db`update access_token set revoked_at = now() where role = 'viewer'`
  await until(() => deps.streams.size === 0, { what: 'its place to be free' })
  await expect(reader?.read()).rejects.toThrow()
})
