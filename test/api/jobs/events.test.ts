import { once as happens } from 'node:events'
import type { Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createHttpServer } from '../../../src/roles/api.ts'
import { asAdmin } from '../../support/admin-token.ts'
import { untilReadable } from '../../support/events.ts'
import { createDatabase } from '../../support/postgres.ts'
import { settles, until } from '../../support/wait.ts'
import { clientOf, depsOver, letTesterIn, type Overrides, selfTestJob, startFeed, tester } from '../setup.ts'

const database = await createDatabase()
const { db } = database
const call = clientOf(depsOver(db))

const create = async (): Promise<string> => (await call('POST', '/v1/jobs', { json: selfTestJob })).body.id

interface Serving {
  readonly url: string
  readonly port: number
  readonly server: Server
  readonly deps: ReturnType<typeof depsOver>
}

const serve = async (overrides: Overrides = {}): Promise<Serving> => {
  const deps = depsOver(db, { events: startFeed(db), ...overrides })
  await letTesterIn(db)
  const server = createHttpServer(deps).listen(0, '127.0.0.1')
  await happens(server, 'listening')
  onTestFinished(async () => {
    deps.streams.close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, port, server, deps }
}

/** Reads a stream into `text` until the test ends or the server ends it. */
const follow = async (url: string, headers: Record<string, string> = {}) => {
  const abort = new AbortController()
  const response = await fetch(url, { headers: { ...asAdmin, ...headers }, signal: abort.signal })
  const seen = { text: '', ended: false }
  const reading = (async () => {
    const decoder = new TextDecoder()
    try {
      for await (const chunk of response.body ?? []) seen.text += decoder.decode(chunk, { stream: true })
    } catch (error) {
      if (!abort.signal.aborted) throw error
    } finally {
      seen.ended = true
    }
  })()
  const leave = async () => {
    abort.abort()
    await reading
  }
  onTestFinished(leave)
  const ids = () => [...seen.text.matchAll(/^id: (.+)$/gm)].map((match) => match[1] ?? '')
  return { response, seen, ids, leave }
}

test('events come in pages after a cursor, filtered by type and subject', async () => {
  const id = await create()
  await call('POST', `/v1/jobs/${id}/:cancel`)
  await untilReadable(db)
  const first = await call('GET', '/v1/events?limit=1')
  expect(first.body.items[0]).toMatchObject({ type: 'job.created', job_id: id, actor: tester, to: 'ready' })
  const rest = await call('GET', `/v1/events?after=${first.body.next}`)
  expect(rest.body.items.map((event) => event.type)).toEqual(['job.canceled'])
  expect(rest.body.end).toBe(true)
  expect((await call('GET', '/v1/events?types=token.*')).body.items).toEqual([])
  expect((await call('GET', '/v1/events?types=job.can*,token.*')).body.items).toHaveLength(1)
  expect((await call('GET', '/v1/events?subject=self-test/one')).body.items).toHaveLength(2)
  expect((await call('GET', '/v1/events?after=now')).body.items).toEqual([])
  for (const after of ['nonsense', '1-2', '1-99999999999999999999999-1']) {
    const refused = await call('GET', `/v1/events?after=${after}`)
    expect([refused.status, refused.body.code]).toEqual([422, 'cursor-invalid'])
  }
})

test('the hash chain can be checked', async () => {
  const report = await call('GET', '/v1/events/:verify')
  expect(report.status, report.text).toBe(200)
  expect(report.body).toMatchObject({ ok: true, first_broken: null })
  expect((await call('GET', '/v1/events/:verify?head=nonsense')).body.field).toBe('head')
  expect((await call('GET', '/v1/events/:verify?kept_days=0')).body.field).toBe('kept_days')
})

// promise: event-feed
test('a stream tells of what happens, and resumes after Last-Event-ID without a gap or a repeat', async () => {
  const { url } = await serve()
  const first = await follow(`${url}/v1/events/stream?types=job.*`)
  expect(first.response.headers.get('content-type')).toMatch(/^text\/event-stream/)
  await until(() => first.seen.text.includes(': connected'), { what: 'the stream to begin' })
  // The feed's tail is set when it first reads; what is made from then on must arrive.
  const jobs: string[] = []
  const heard = async () => {
    jobs.push(await create())
    return first.ids().length > 0
  }
  await until(heard, { what: 'the first event' })
  await first.leave()
  jobs.push(await create(), await create())
  const last = first.ids().at(-1) ?? ''
  const second = await follow(`${url}/v1/events/stream?types=job.*`, { 'last-event-id': last })
  await until(() => second.seen.text.includes(jobs.at(-1) ?? ''), { what: 'the last event' })
  const both = [...first.ids(), ...second.ids()]
  expect(new Set(both).size).toBe(both.length)
  const told = first.seen.text + second.seen.text
  for (const job of jobs.slice(-3)) expect(told).toContain(job)
  const [frame = ''] = second.seen.text.split('\n\n').filter((part) => part.startsWith('id: '))
  const data = JSON.parse(frame.split('\ndata: ')[1] ?? '{}') as { id: string; type: string }
  expect(frame).toContain(`id: ${data.id}\nevent: ${data.type}\n`)
})

test('a quiet stream says that it is still there', async () => {
  const { url } = await serve({ limits: { heartbeatMs: 20 } })
  const stream = await follow(`${url}/v1/events/stream?types=never.happens`)
  await until(() => stream.seen.text.split(': still here').length > 3, { what: 'three heartbeats' })
})

test('a cursor that is none is refused before the stream begins', async () => {
  const { url } = await serve()
  const response = await fetch(`${url}/v1/events/stream`, {
    headers: { ...asAdmin, 'last-event-id': 'nonsense' },
  })
  expect(response.status).toBe(422)
  expect(await response.json()).toMatchObject({ code: 'cursor-invalid' })
})

test('streams are bounded, and a place is free again when a reader leaves', async () => {
  const { url, deps } = await serve({ limits: { streamsPerActor: 1 } })
  const stream = await follow(`${url}/v1/events/stream`)
  const refused = await fetch(`${url}/v1/events/stream`, { headers: asAdmin })
  expect(refused.status).toBe(429)
  expect(await refused.json()).toMatchObject({ code: 'too-many-streams' })
  await stream.leave()
  await until(() => deps.streams.size === 0, { what: 'the place to be free' })
})

test('a reader that does not read is dropped, and costs no memory', async () => {
  const { port, deps } = await serve({ limits: { slowReaderMs: 100, heartbeatMs: 60_000 } })
  await db`insert into event (type, subject_type, subject_id, actor, detail)
    select 'noise.made', 'noise', n::text, 'test', jsonb_build_object('text', repeat('x', 20000))
    from generate_series(1, 1500) n`
  const socket = connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.pause()
  socket.write(
    `GET /v1/events/stream?after=start HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${asAdmin.authorization}\r\n\r\n`,
  )
  await until(() => deps.streams.size === 1, { what: 'the stream to begin' })
  await until(() => deps.streams.size === 0, { what: 'the reader to be dropped', withinMs: 20_000 })
})

test('a server that stops ends its streams first', async () => {
  const { url, server, deps } = await serve()
  const stream = await follow(`${url}/v1/events/stream`)
  await until(() => stream.seen.text.includes(': connected'), { what: 'the stream to begin' })
  const closed = new Promise((resolve) => server.close(resolve))
  deps.streams.close()
  server.closeIdleConnections()
  await until(() => stream.seen.ended, { what: 'the stream to end' })
  server.closeIdleConnections()
  await settles(closed, { what: 'the server to close' })
})
