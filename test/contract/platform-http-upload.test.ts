import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import {
  type Answering,
  call,
  expectFailure,
  openTestHttp as open,
  serve,
} from '../support/hostile-server.ts'
import { until } from '../support/wait.ts'

const put = { method: 'PUT', path: '/disk' } as const

/** Takes everything and says how much it was. */
const counting: Answering = (incoming, answer) => {
  let size = 0
  incoming.on('data', (chunk: Buffer) => {
    size += chunk.length
  })
  incoming.on('end', () => answer.end(`${incoming.headers['content-length'] ?? 'chunked'} ${size}`))
  incoming.on('error', () => {})
}

const megabyte = 1024 * 1024

/** So many megabytes, made as they are asked for; `given` counts those that were. */
const source = (megabytes: number): { body: Readable; given: () => number } => {
  let given = 0
  const make = function* () {
    for (; given < megabytes; given += 1) yield Buffer.alloc(megabyte, given)
  }
  return { body: Readable.from(make(), { objectMode: false }), given: () => given }
}

test('a body that flows arrives whole, with its size or in chunks', async () => {
  const server = await serve(counting)
  const http = open(server.url)
  const whole = await http.request(call(), { ...put, body: source(8).body, bodyBytes: 8 * megabyte })
  expect(whole.body.toString()).toBe(`${8 * megabyte} ${8 * megabyte}`)
  const chunked = await http.request(call(), { ...put, body: source(3).body })
  expect(chunked.body.toString()).toBe(`chunked ${3 * megabyte}`)
})

test('a body of another size than announced is no success, and no byte too many is sent', async () => {
  const sizes: number[] = []
  const server = await serve((incoming, answer) => {
    let size = 0
    incoming.on('data', (chunk: Buffer) => {
      size += chunk.length
    })
    incoming.on('error', () => {})
    incoming.on('end', () => answer.end())
    incoming.on('close', () => sizes.push(size))
  })
  const http = open(server.url)
  for (const [megabytes, announced] of [
    [2, 3],
    [3, 2],
  ] as const) {
    const sending = http.request(call(), {
      ...put,
      body: source(megabytes).body,
      bodyBytes: announced * megabyte,
    })
    await expect(sending, `${megabytes} of ${announced}`).rejects.toThrow('announced')
  }
  await until(() => sizes.length === 2, { what: 'both uploads to end' })
  expect(Math.max(...sizes)).toBeLessThanOrEqual(2 * megabyte)
})

test('the error of what is sent comes out as itself', async () => {
  const server = await serve(counting)
  const broken = Readable.from(
    (function* () {
      yield Buffer.alloc(1000)
      throw new Error('the archive is torn')
    })(),
    { objectMode: false },
  )
  const sending = open(server.url).request(call(), { ...put, body: broken, bodyBytes: 2000 })
  await expect(sending).rejects.toThrow('the archive is torn')
})

test('a platform that takes nothing is given up, and no more is read from the source than fits in between', async () => {
  const server = await serve((incoming) => void incoming.pause())
  const { body, given } = source(10_240)
  const sending = open(server.url).request(call(), { ...put, body, stallMs: 200 })
  const error = await expectFailure(sending, 'platform-timeout', 'unknown')
  expect(error.message).toContain('took nothing')
  expect(given()).toBeLessThan(64)
  expect(body.destroyed).toBe(true)
})

test('a source that is slow is nobody else to blame for', async () => {
  const server = await serve(counting)
  const body = new Readable({ read: () => {} })
  const sending = open(server.url).request(call(), { ...put, body, stallMs: 40, answerMs: 60_000 })
  await until(() => server.seen.requests === 1, { what: 'the upload to begin' })
  const looks: number[] = []
  await until(() => looks.push(1) > 20, { what: 'several times the patience to pass', everyMs: 20 })
  body.push(Buffer.alloc(10))
  body.push(null)
  expect((await sending).body.toString()).toBe('chunked 10')
})

test('an answer before the end of the upload ends the upload', async () => {
  const server = await serve((incoming, answer) => {
    incoming.on('error', () => {})
    answer.writeHead(403, { 'content-type': 'text/plain' })
    answer.end('no')
  })
  const { body, given } = source(10_240)
  const answer = await open(server.url).request(call(), { ...put, body, bodyBytes: 10_240 * megabyte })
  expect([answer.status, answer.body.toString()]).toEqual([403, 'no'])
  await until(() => body.destroyed, { what: 'the source to be let go' })
  expect(given()).toBeLessThan(64)
})
