import { randomBytes, randomUUID } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { describe, expect, test } from 'vitest'
import type { Db } from '../../../db/client.ts'
import { createToken, newSecret } from '../../../src/api/access/tokens.ts'
import { SignIns } from '../../../src/api/http/sign-ins.ts'
import { systemClock } from '../../../src/clock.ts'
import { isSigned, newWebhookSecret, webhookKey } from '../../../src/ledger/events/webhook-signature.ts'
import { Webhooks, type WebhooksOptions } from '../../../src/ledger/events/webhooks.ts'
import { createLog } from '../../../src/process/log.ts'
import { webhookSecretPlace } from '../../../src/seal/seal-places.ts'
import { sealUrl } from '../../../src/sealing/sealed-url.ts'
import { atEnd } from '../../support/cleanup.ts'
import { quietLog, testSealer as sealer, writeEvents } from '../../support/events.ts'
import { createDatabase } from '../../support/postgres.ts'
import { freePort } from '../../support/temp.ts'
import { until } from '../../support/wait.ts'

interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly path: string
}

/** A receiver that answers 204, or as the test says. */
const startReceiver = async (answer?: (response: ServerResponse, received: Received) => void) => {
  const received: Received[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => {
      body += String(chunk)
    })
    request.on('end', () => {
      const one = { headers: request.headers, body, path: request.url ?? '' }
      received.push(one)
      if (answer) answer(response, one)
      else response.writeHead(204).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  atEnd(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
  return {
    url,
    received,
    reasons: () => received.map(({ body }) => (JSON.parse(body) as { reason: string }).reason),
  }
}

const secret = newWebhookSecret()

const addWebhook = async (db: Db, url: string, types: string[] = []): Promise<string> => {
  const id = randomUUID()
  const { origin, sealedUrl } = sealUrl(sealer, id, url)
  const sealed = sealer.seal(secret, webhookSecretPlace(id))
  await db`insert into webhook (id, name, url, sealed_url, secret, types, cursor_era, cursor_xid, cursor_id, created_by)
    values (${id}, ${id}, ${origin}, ${sealedUrl}, ${sealed}, ${types}, 0, '0', 0, 'test')`
  return id
}

const setUp = async () => {
  const { db } = await createDatabase()
  const lines: string[] = []
  const log = createLog({
    role: 'test',
    level: 'trace',
    destination: { write: (line) => void lines.push(line) },
  })
  const start = (options: Partial<WebhooksOptions> = {}): Webhooks => {
    const webhooks = new Webhooks({
      db,
      clock: systemClock,
      log,
      sealer,
      pollMs: 20,
      retryBaseMs: 20,
      retryCapMs: 50,
      ...options,
    })
    webhooks.start()
    atEnd(() => webhooks.stop())
    return webhooks
  }
  const rowOf = async (id: string) => {
    const [row] = await db`select * from webhook where id = ${id}`
    if (!row) throw new Error('The webhook is gone.')
    return row
  }
  return { db, start, rowOf, lines }
}

describe('webhooks', () => {
  test('carry who came in, who went and who failed to, with the address and nothing secret', async () => {
    const { db, start } = await setUp()
    const receiver = await startReceiver()
    await addWebhook(db, receiver.url, ['session.*', 'sign-in.*'])
    const clock = systemClock
    const limits = { signInsBurst: 5, signInRefillMs: 1_000, failedSignInsMs: 60_000, buckets: 10 }
    const signIns = new SignIns({ db, clock, log: quietLog, limits })
    const made = newSecret()
    const token = await db.begin((tx) =>
      createToken(tx, { name: 'ann', role: 'viewer', expiresAt: null, createdBy: 'test', secret: made }),
    )
    const session = {
      id: randomBytes(16).toString('hex'),
      tokenId: token.id,
      expiresAtMs: Date.now() + 60_000,
    }
    await signIns.started(token, '10.1.2.3')
    await signIns.ended(session, token, '10.1.2.3')
    signIns.failed('10.1.2.4')
    await signIns.tell()
    start()
    await until(() => receiver.received.length === 3, { what: 'three deliveries' })
    const bodies = receiver.received.map(({ body }) => JSON.parse(body) as Record<string, unknown>)
    const who = { subject: { type: 'token', id: token.id }, actor: 'token/ann', detail: { peer: '10.1.2.3' } }
    expect(bodies).toMatchObject([
      { type: 'session.started', ...who },
      { type: 'session.ended', ...who },
      { type: 'sign-in.failed', detail: { attempts: 1, peers: [{ peer: '10.1.2.4', attempts: 1 }] } },
    ])
    const all = receiver.received.map(({ body }) => body).join('')
    for (const secretPart of [made, made.slice(13), session.id]) expect(all).not.toContain(secretPart)
  })

  test('deliver every event in order, signed, and remember how far they came', async () => {
    const { db, start, rowOf } = await setUp()
    const receiver = await startReceiver()
    const id = await addWebhook(db, receiver.url)
    for (const reason of ['a', 'b', 'c']) await writeEvents(db, [{ reason }])
    start()
    await until(() => receiver.received.length === 3, { what: 'three deliveries' })
    expect(receiver.reasons()).toEqual(['a', 'b', 'c'])
    const key = webhookKey(secret)
    for (const { headers, body } of receiver.received) {
      expect(key && isSigned(key, { headers, body, nowMs: Date.now() })).toBe(true)
      expect(headers['webhook-id']).toBe((JSON.parse(body) as { id: string }).id)
    }
    expect(JSON.parse(receiver.received[0]?.body ?? '')).toEqual({
      id: expect.stringMatching(/^1-\d+-\d+$/),
      type: 'thing.changed',
      at: expect.stringMatching(/^\d{4}-.*Z$/),
      subject: { type: 'thing', id: 'one' },
      job_id: null,
      actor: 'test',
      from: null,
      to: null,
      reason: 'a',
      detail: { a: [true, null], b: 1 },
    })
    await until(async () => (await rowOf(id)).lastDeliveredAt !== null, {
      what: 'the delivery to be recorded',
    })
    expect(await rowOf(id)).toMatchObject({ failures: 0, lastError: null, cursorEra: 1 })
  })

  // promise: slow-receiver
  test('a dead receiver delays nobody else', async () => {
    const { db, start, rowOf } = await setUp()
    const silent = await startReceiver(() => {})
    const alive = await startReceiver()
    const dead = await addWebhook(db, silent.url)
    await addWebhook(db, alive.url)
    await writeEvents(
      db,
      Array.from({ length: 50 }, (_, at) => ({ reason: String(at) })),
    )
    start({ requestMs: 1_000 })
    // On a machine that stands still, one of them may have come twice.
    await until(() => new Set(alive.reasons()).size === 50, { what: 'the living to have all' })
    await until(async () => (await rowOf(dead)).failures >= 2, { what: 'the dead to have been tried twice' })
    expect((await rowOf(dead)).lastError).toBe('The receiver gave no HTTP answer in time.')
    expect(new Set(silent.reasons())).toEqual(new Set(['0']))
  })

  test('what failed comes again, and nothing overtakes it', async () => {
    const { db, start, rowOf } = await setUp()
    let refusals = 3
    const receiver = await startReceiver((response, { body }) => {
      const refuse = body.includes('"reason":"b"') && refusals > 0
      if (refuse) refusals -= 1
      response.writeHead(refuse ? 503 : 200).end('x'.repeat(200_000))
    })
    const id = await addWebhook(db, receiver.url)
    await writeEvents(db, [{ reason: 'a' }, { reason: 'b' }, { reason: 'c' }])
    start()
    await until(() => receiver.reasons().includes('c'), { what: 'the last event' })
    expect(receiver.reasons()).toEqual(['a', 'b', 'b', 'b', 'b', 'c'])
    await until(async () => (await rowOf(id)).failures === 0, { what: 'the failures to be forgotten' })
  })

  test('a crash between a delivery and its record delivers again, under the same id', async () => {
    const { db, start } = await setUp()
    const first = await deliverAndCrash(db, start)
    start()
    await until(() => first.received.length >= 3, { what: 'the event again, and the next' })
    expect(first.reasons()).toEqual(['a', 'a', 'b'])
    expect(first.received[0]?.headers['webhook-id']).toBe(first.received[1]?.headers['webhook-id'])
  })

  test('events of other types move the cursor without a delivery', async () => {
    const { db, start, rowOf } = await setUp()
    const receiver = await startReceiver()
    const id = await addWebhook(db, receiver.url, ['job.*', 'exact'])
    await writeEvents(db, [
      { type: 'job.failed', reason: 'a' },
      { type: 'exact', reason: 'b' },
    ])
    await writeEvents(db, [
      { type: 'exact.not', reason: 'c' },
      { type: 'other', reason: 'd' },
    ])
    const [last] = await db`select xid::text as xid, id from event order by xid desc, id desc limit 1`
    start()
    await until(async () => (await rowOf(id)).cursorId === last?.id, { what: 'the cursor to reach the end' })
    expect(receiver.reasons()).toEqual(['a', 'b'])
  })

  test('setting the cursor back replays; pausing stops', async () => {
    const { db, start, rowOf } = await setUp()
    const receiver = await startReceiver()
    const id = await addWebhook(db, receiver.url)
    await writeEvents(db, [{ reason: 'a' }, { reason: 'b' }])
    start()
    await until(async () => receiver.received.length === 2 && (await rowOf(id)).nextTryAt <= new Date(), {
      what: 'both deliveries',
    })
    await db`update webhook set cursor_era = 0, cursor_xid = '0', cursor_id = 0, next_try_at = now() - interval '1 second' where id = ${id}`
    await until(() => receiver.received.length === 4, { what: 'the replay' })
    expect(receiver.reasons()).toEqual(['a', 'b', 'a', 'b'])
    await db`update webhook set state = 'paused' where id = ${id}`
    const other = await startReceiver()
    await addWebhook(db, other.url)
    await writeEvents(db, [{ reason: 'c' }])
    await until(() => other.reasons().includes('c'), { what: 'the other one to have it' })
    expect(receiver.received).toHaveLength(4)
  })

  test('no redirect is followed', async () => {
    const { db, start, rowOf } = await setUp()
    const other = await startReceiver()
    const receiver = await startReceiver((response) => response.writeHead(307, { location: other.url }).end())
    const id = await addWebhook(db, receiver.url)
    await writeEvents(db, [{ reason: 'a' }])
    start()
    await until(async () => (await rowOf(id)).failures >= 2, { what: 'two tries' })
    expect((await rowOf(id)).lastError).toContain('redirects are not followed')
    expect(other.received).toEqual([])
  })

  test('metadata addresses are refused, private ones too where they are not allowed', async () => {
    const { db, start, rowOf } = await setUp()
    const receiver = await startReceiver()
    const named = receiver.url.replace('127.0.0.1', 'localhost')
    const ids = [
      await addWebhook(db, 'http://169.254.169.254/latest'),
      await addWebhook(db, receiver.url),
      await addWebhook(db, named),
    ]
    await writeEvents(db, [{ reason: 'a' }])
    start({ allowPrivate: false })
    for (const id of ids) {
      await until(async () => (await rowOf(id)).failures > 0, { what: 'the refusal' })
      expect((await rowOf(id)).lastError).toContain('an address that webhooks may not be sent to')
    }
    expect(receiver.received).toEqual([])
  })

  test('no secret reaches a log line or the row', async () => {
    const { db, start, rowOf, lines } = await setUp()
    const receiver = await startReceiver((response) => response.writeHead(500).end())
    const id = await addWebhook(db, `${receiver.url}?key=very-hidden`)
    await writeEvents(db, [{ reason: 'a' }])
    start()
    await until(async () => (await rowOf(id)).failures >= 2, { what: 'failures' })
    await until(() => lines.some((line) => line.includes('not delivered')), { what: 'a log line' })
    const told = lines.join('') + String((await rowOf(id)).lastError)
    expect(told).not.toContain('very-hidden')
    expect(JSON.stringify(await rowOf(id))).not.toContain('very-hidden')
    expect((await rowOf(id)).url).toBe(new URL(receiver.url).origin)
    expect(told).not.toContain(secret.slice(8, 30))
  })

  test('what its last error says is the same for a closed port and for one behind which something is not HTTP', async () => {
    const { db, start, rowOf } = await setUp()
    const odd = createTcpServer((socket) => {
      socket.on('error', () => {})
      socket.write('220 mail.example.org ESMTP\r\n', () => socket.destroy())
    })
    await new Promise<void>((resolve) => odd.listen(0, '127.0.0.1', resolve))
    atEnd(() => new Promise((resolve) => odd.close(resolve)))
    const open = (odd.address() as AddressInfo).port
    const silent = await startReceiver(() => {})
    const ids = [
      await addWebhook(db, `http://127.0.0.1:${await freePort()}/`),
      await addWebhook(db, `http://127.0.0.1:${open}/`),
      await addWebhook(db, silent.url),
    ]
    await writeEvents(db, [{ reason: 'a' }])
    start({ requestMs: 500 })
    for (const id of ids) {
      await until(async () => (await rowOf(id)).failures > 0, { what: 'a failure', withinMs: 90_000 })
      expect((await rowOf(id)).lastError).toBe('The receiver gave no HTTP answer in time.')
    }
  })

  test('one whose origin was changed in the database is sent nothing', async () => {
    const { db, start, rowOf } = await setUp()
    const [receiver, thief] = [await startReceiver(), await startReceiver()]
    const id = await addWebhook(db, `${receiver.url}?key=very-hidden`)
    const other = await addWebhook(db, thief.url)
    await db`update webhook set url = ${new URL(thief.url).origin} where id = ${id}`
    await db`update webhook set sealed_url = (select sealed_url from webhook where id = ${id}), state = 'active'
      where id = ${other}`
    await writeEvents(db, [{ reason: 'a' }])
    start()
    for (const each of [id, other]) {
      await until(async () => (await rowOf(each)).failures > 0, { what: 'the refusal' })
      expect((await rowOf(each)).lastError).toContain('cannot be opened')
    }
    expect([...receiver.received, ...thief.received]).toEqual([])
  })
})

/** Delivers `a`, then dies before the cursor moves; `b` waits. Returns the receiver. */
const deliverAndCrash = async (db: Db, start: (options?: Partial<WebhooksOptions>) => Webhooks) => {
  const receiver = await startReceiver()
  const id = await addWebhook(db, receiver.url)
  await writeEvents(db, [{ reason: 'a' }, { reason: 'b' }])
  // The delivery happens, and its record cannot be written.
  await db.unsafe(`create function hold() returns trigger language plpgsql as $$ begin
    if new.cursor_id <> old.cursor_id then raise exception 'crashed here'; end if; return new; end $$`)
  await db.unsafe('create trigger hold before update on webhook for each row execute function hold()')
  const dying = start()
  await until(() => receiver.received.length === 1, { what: 'the first delivery' })
  await dying.stop()
  await db`drop trigger hold on webhook`
  await db`update webhook set next_try_at = now() - interval '1 second' where id = ${id}`
  return receiver
}
