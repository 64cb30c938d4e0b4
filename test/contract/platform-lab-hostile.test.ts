import { expect, test } from 'vitest'
import { openLab } from '../../src/platforms/lab/lab.ts'
import type { InventoryItem, Scan } from '../../src/platforms/ports/inventory.ts'
import { type Platform, portOf } from '../../src/platforms/ports/ports.ts'
import { atEnd } from '../support/cleanup.ts'
import { call, expectFailure, serve } from '../support/hostile-server.ts'

const account = {
  kind: 'lab' as const,
  username: 'u',
  password: 'p',
  ca: '',
  fingerprint: '',
  caller: 'Größe\r\nx: y',
  connectTimeoutMs: 10_000,
}

const json = { 'content-type': 'application/json' }

/** A lab that answers what the test says, by path; whoever signs in is let in. */
const fakeLab = async (
  answers: Readonly<Record<string, unknown>>,
): Promise<{ platform: Platform; seen: string[] }> => {
  const seen: string[] = []
  const server = await serve((incoming, answer) => {
    const path = (incoming.url ?? '').replace('/sites/one', '')
    seen.push(`${incoming.method} ${path}`)
    incoming.resume()
    const known = path === '/session' ? { token: 'abc' } : answers[path]
    if (known === undefined) answer.writeHead(404, json).end(JSON.stringify(absent))
    else if (Buffer.isBuffer(known))
      answer.writeHead(200, { 'content-type': 'application/octet-stream' }).end(known)
    else answer.writeHead(200, json).end(typeof known === 'string' ? known : JSON.stringify(known))
  })
  const platform = openLab({ ...account, endpoint: `${server.url}/sites/one` })
  atEnd(() => platform.close())
  return { platform, seen }
}

const absent = { code: 'platform-absent', failure: 'absent', message: 'not here', remedy: 'look' }
const options = { scopes: [], concurrency: 2, itemTimeoutMs: 300 }

const readAll = async (scan: Scan): Promise<InventoryItem[]> => {
  const items: InventoryItem[] = []
  for await (const batch of scan) items.push(...batch)
  return items
}

test('an answer that is no JSON, or has another shape, is not believed', async () => {
  for (const answer of ['<html>', '{"product": 1}', '[]', '']) {
    const { platform } = await fakeLab({ '/about': answer })
    await expectFailure(platform.probe(call()), 'platform-answer-invalid', 'unknown')
  }
})

test('a session that would break out of its header is refused', async () => {
  const server = await serve((incoming, answer) => {
    incoming.resume()
    answer.writeHead(201, json).end(JSON.stringify({ token: 'abc\r\nx-admin: yes' }))
  })
  const platform = openLab({ ...account, endpoint: server.url })
  atEnd(() => platform.close())
  await expectFailure(platform.probe(call()), 'platform-answer-invalid', 'unknown')
  expect(server.seen.requests).toBe(1)
})

test('a 404 is "absent" only when the lab itself says so', async () => {
  const server = await serve((incoming, answer) => {
    incoming.resume()
    if (incoming.url === '/session') answer.writeHead(201, json).end('{"token":"abc"}')
    else answer.writeHead(404, { 'content-type': 'text/html' }).end('<h1>no such page</h1>')
  })
  const platform = openLab({ ...account, endpoint: server.url })
  atEnd(() => platform.close())
  const look = portOf(platform, 'inventory').instance(call(), 'vm-1')
  await expectFailure(look, 'platform-answer-invalid', 'unknown')
})

test('one thing that cannot be read does not hide the others', async () => {
  const good = { ref: 'vm-1', name: 'good', power_state: 'on' }
  const { platform } = await fakeLab({
    '/inventory?limit=250': {
      items: [
        { type: 'instance', facts: { ref: 'vm-0', name: 'liar', power_state: 'on', cpus: 'four' } },
        { type: 'instance', facts: { ...good, memory: null, nics: null } },
        { type: 'instance', facts: { name: 'nameless ref', power_state: 'on' } },
        { type: 'host', facts: { ref: 'host-1', name: 'odd', state: 'on fire' } },
      ],
      next: null,
      cursor: 'c',
    },
  })
  const items = await readAll(portOf(platform, 'inventory').scan(call(), options))
  expect(items).toMatchObject([
    {
      type: 'problem',
      of: 'instance',
      ref: 'vm-0',
      name: 'liar',
      error: { code: 'platform-answer-invalid' },
    },
    { type: 'instance', facts: { ...good, memory: 0, cpus: 0, nics: [], guest: { agent: 'unknown' } } },
    { type: 'problem', of: 'instance', ref: '', name: 'nameless ref' },
    { type: 'problem', of: 'host', ref: 'host-1' },
  ])
})

test('a listing that leads in a circle is no listing', async () => {
  const page = (next: string) => ({ items: [], next, cursor: null })
  const { platform } = await fakeLab({
    '/inventory?limit=250': page('a'),
    '/inventory?page=a&limit=250': page('b'),
    '/inventory?page=b&limit=250': page('a'),
  })
  const reading = readAll(portOf(platform, 'inventory').scan(call(), options))
  await expectFailure(reading, 'platform-answer-invalid', 'unknown')
})

test('bytes that are too few or too many are not taken for the range', async () => {
  const disk = { machine: 'vm-1', disk: 'd' }
  for (const length of [99, 101]) {
    const path = '/instances/vm-1/disks/d/bytes?offset=0&length=100'
    const { platform } = await fakeLab({ [path]: Buffer.alloc(length) })
    const reading = portOf(platform, 'disks').read(call(), disk, { offset: 0, length: 100 })
    await expectFailure(reading, 'platform-answer-invalid', 'unknown')
  }
})

test('extents out of order, or pages of them that lead back, are refused', async () => {
  const path = '/instances/vm-1/disks/d/extents?offset=0'
  const backwards = [
    { offset: 100, length: 10 },
    { offset: 50, length: 10 },
  ]
  for (const page of [
    { extents: backwards, next_offset: null },
    { extents: [], next_offset: 0 },
  ]) {
    const { platform } = await fakeLab({ [path]: page })
    const reading = portOf(platform, 'disks').extents(call(), { machine: 'vm-1', disk: 'd' }).next()
    await expectFailure(reading, 'platform-answer-invalid', 'unknown')
  }
})

test('a ref cannot lead to another path, and a caller not to another header', async () => {
  const { platform, seen } = await fakeLab({})
  const inventory = portOf(platform, 'inventory')
  for (const ref of ['..', '', '.', '../session', 'a/b?c#d', 'vm 1'])
    expect(await inventory.instance(call(), ref), ref).toEqual({ found: false })
  expect(seen).toEqual([
    'POST /session',
    'GET /instances/..%2Fsession',
    'GET /instances/a%2Fb%3Fc%23d',
    'GET /instances/vm%201',
  ])
})
