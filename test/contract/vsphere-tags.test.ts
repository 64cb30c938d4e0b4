import type { IncomingMessage, ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { readTags, readTagsOf } from '../../src/platforms/vsphere/inventory/instance-tags.ts'
import { Vapi } from '../../src/platforms/vsphere/soap/vapi.ts'
import { call, expectFailure, openTestHttp, serve } from '../support/hostile-server.ts'

const account = {
  username: 'ann@vsphere.local',
  password: 'p:w <&>',
  caller: 'test',
  connectTimeoutMs: 10_000,
}
const basic = `Basic ${Buffer.from('ann@vsphere.local:p:w <&>').toString('base64')}`

const tag = (name: string) => `urn:vmomi:InventoryServiceTag:${name}:GLOBAL`
const category = (name: string) => `urn:vmomi:InventoryServiceCategory:${name}:GLOBAL`
const machine = (id: string) => ({ type: 'VirtualMachine', id })

/** What vCenter 8 answers below `/api/cis`, by method and path. */
const answers: Readonly<Record<string, (body: string) => unknown>> = {
  'GET /tagging/tag': () => [tag('gold'), tag('prod'), tag('vanished')],
  [`GET /tagging/tag/${tag('gold')}`]: () => ({
    id: tag('gold'),
    name: 'gold',
    category_id: category('tier'),
  }),
  [`GET /tagging/tag/${tag('prod')}`]: () => ({
    id: tag('prod'),
    name: 'prod',
    category_id: category('stage'),
  }),
  [`GET /tagging/category/${category('tier')}`]: () => ({ id: category('tier'), name: 'tier' }),
  [`GET /tagging/category/${category('stage')}`]: () => ({ id: category('stage'), name: 'stage' }),
  'POST /tagging/tag-association?action=list-attached-objects-on-tags': (body) => {
    expect(JSON.parse(body)).toEqual({ tag_ids: [tag('gold'), tag('prod'), tag('vanished')] })
    return [
      { tag_id: tag('gold'), object_ids: [machine('vm-1'), machine('vm-2'), { type: 'Datastore', id: 'd' }] },
      { tag_id: tag('prod'), object_ids: [machine('vm-1')] },
      { tag_id: tag('vanished'), object_ids: [machine('vm-3')] },
    ]
  },
  'POST /tagging/tag-association?action=list-attached-tags': (body) => {
    expect(JSON.parse(body)).toEqual({ object_id: machine('vm-2') })
    return [tag('gold')]
  },
}

interface FakeApi {
  /** How many questions each session is good for. */
  readonly lasts?: number
  readonly status?: number
}

const startApi = async ({ lasts = Number.POSITIVE_INFINITY, status = 404 }: FakeApi = {}) => {
  const asked: string[] = []
  let session = 0
  let left = 0
  const say = (answer: ServerResponse, code: number, value?: unknown) =>
    answer.writeHead(code, { 'Content-Type': 'application/json' }).end(JSON.stringify(value ?? null))
  const answerTo = (incoming: IncomingMessage, body: string, answer: ServerResponse) => {
    const path = decodeURIComponent(incoming.url ?? '')
    asked.push(`${incoming.method} ${path}`)
    if (path === '/api/session' && incoming.method === 'POST') {
      if (incoming.headers.authorization !== basic) return say(answer, 401)
      session += 1
      left = lasts
      return say(answer, 201, `session-${session}`)
    }
    left -= 1
    if (incoming.headers['vmware-api-session-id'] !== `session-${session}` || left < 0)
      return say(answer, 401)
    const known = answers[`${incoming.method} ${path.replace('/api/cis', '')}`]
    return known ? say(answer, 200, known(body)) : say(answer, status)
  }
  const server = await serve((incoming, answer) => {
    let body = ''
    incoming.on('data', (chunk) => {
      body += chunk
    })
    incoming.on('end', () => answerTo(incoming, body, answer))
  })
  return { vapi: new Vapi(openTestHttp(server.url), account), asked, url: server.url }
}

test('tags of vCenter 7 and newer are read by category, of machines alone', async () => {
  const { vapi, asked } = await startApi()
  expect(Object.fromEntries(await readTags(vapi, call()))).toEqual({
    'vm-1': { tier: ['gold'], stage: ['prod'] },
    'vm-2': { tier: ['gold'] },
  })
  expect(Object.fromEntries(await readTagsOf(vapi, call(), 'vm-2'))).toEqual({ 'vm-2': { tier: ['gold'] } })
  expect(asked.filter((line) => line === 'POST /api/session')).toHaveLength(1)
  await vapi.close()
  expect(asked.at(-1)).toBe('DELETE /api/session')
})

test('a REST session that was lost is opened anew, and the reading goes on', async () => {
  const { vapi, asked } = await startApi({ lasts: 3 })
  expect((await readTags(vapi, call())).size).toBe(2)
  expect(asked.filter((line) => line === 'POST /api/session').length).toBeGreaterThan(1)
})

test('an account that may not read tags is told so, and a failing service is no vCenter without tags', async () => {
  const denied = await startApi({ status: 403 })
  await expectFailure(readTags(denied.vapi, call()), 'platform-permission', 'refused')
  const broken = await startApi({ status: 500 })
  await expectFailure(readTags(broken.vapi, call()), 'platform-fault', 'unknown')
  const { url } = await startApi()
  const stranger = new Vapi(openTestHttp(url), { ...account, password: 'planted-wrong' })
  const error = await expectFailure(readTags(stranger, call()), 'platform-permission', 'refused')
  expect(JSON.stringify([error.message, error.detail])).not.toContain('planted-wrong')
})

test('a server without a REST interface has no tags, and one that answers nonsense is not believed', async () => {
  const none = await serve((_incoming, answer) => answer.writeHead(404).end('not here'))
  expect((await readTags(new Vapi(openTestHttp(none.url), account), call())).size).toBe(0)
  const nonsense = await serve((_incoming, answer) => answer.writeHead(200).end('<html>'))
  const reading = readTags(new Vapi(openTestHttp(nonsense.url), account), call())
  await expectFailure(reading, 'platform-answer-invalid', 'unknown')
})
