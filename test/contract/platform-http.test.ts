import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { atEnd } from '../support/cleanup.ts'
import {
  type Answering,
  call,
  expectFailure,
  openTestHttp as open,
  serve,
  serveRaw,
} from '../support/hostile-server.ts'
import { freePort } from '../support/temp.ts'
import { settles, until } from '../support/wait.ts'

const get = { method: 'GET', path: '/' } as const
const ok: Answering = (_incoming, answer) => void answer.end('fine')

const drain = async (body: Readable): Promise<number> => {
  let size = 0
  for await (const chunk of body) size += (chunk as Buffer).length
  return size
}

const megabyte = 1024 * 1024

/** Runs `work` and gives by how much the process grew, in MiB. */
const growth = async (work: () => Promise<void>): Promise<number> => {
  const before = process.memoryUsage.rss()
  let most = before
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss())
  }, 20)
  await work()
  clearInterval(timer)
  return (Math.max(most, process.memoryUsage.rss()) - before) / megabyte
}

/** Ten gigabytes and more, as fast as they are taken. */
const endless: Answering = (_incoming, answer) => {
  answer.writeHead(200, { 'content-type': 'application/json' })
  const chunk = Buffer.alloc(megabyte, 97)
  Readable.from(
    (function* () {
      for (let left = 10_240; left > 0; left -= 1) yield chunk
    })(),
  )
    .on('error', () => {})
    .pipe(answer)
}

test('a good answer comes with status, type and body, over one connection', async () => {
  let connections = 0
  const server = await serve((incoming, answer) => {
    answer.setHeader('content-type', 'Text/Plain; charset=utf-8')
    answer.end(`${incoming.method} ${incoming.url} ${incoming.headers.host}`)
  })
  server.server.on('connection', () => {
    connections += 1
  })
  const http = open(`${server.url}/base/`)
  expect(http.basePath).toBe('/base')
  for (let i = 0; i < 3; i += 1) {
    const answer = await http.request(call(), { ...get, path: '/a?b=c', accept: ['text/plain'] })
    expect(answer).toMatchObject({ status: 200, contentType: 'text/plain' })
    expect(answer.body.toString()).toBe(`GET /a?b=c 127.0.0.1:${server.port}`)
  }
  expect(connections).toBe(1)
})

// promise: hostile-platform
test('an answer without end is cut off where the limit is, in little memory', async () => {
  const server = await serve(endless)
  const http = open(server.url)
  const grown = await growth(async () => {
    await expectFailure(
      http.request(call(), { ...get, maxBytes: megabyte }),
      'platform-answer-invalid',
      'unknown',
    )
    const streamed = await http.stream(call(), { ...get, maxBytes: 32 * megabyte })
    await expectFailure(drain(streamed.body), 'platform-answer-invalid', 'unknown')
  })
  expect(grown).toBeLessThan(64)
})

test('an answer that announces too much is refused before it is read', async () => {
  const server = await serve((_incoming, answer) => {
    answer.writeHead(200, { 'content-length': String(10 * 1024 ** 3) })
    answer.write('x')
  })
  const error = await expectFailure(
    open(server.url).request(call(), get),
    'platform-answer-invalid',
    'unknown',
  )
  expect(error.message).toContain('larger than')
})

test('a consumer that does not read holds the sender back, and is not cut off for it', async () => {
  const server = await serve(endless)
  const http = open(server.url)
  const streamed = await http.stream(call(), { ...get, maxBytes: 1024 ** 4, stallMs: 40 })
  const reader = streamed.body[Symbol.asyncIterator]()
  await reader.next()
  const grown = await growth(async () => {
    const looks: number[] = []
    await until(() => looks.push(1) > 20, { what: 'several times the patience to pass', everyMs: 20 })
  })
  expect(grown).toBeLessThan(32)
  expect((await reader.next()).done).toBe(false)
  await reader.return?.()
})

// promise: hostile-platform
test('a slow drip is given up, however long it would go on', async () => {
  const timers = new Set<NodeJS.Timeout>()
  atEnd(() =>
    timers.forEach((timer) => {
      clearInterval(timer)
    }),
  )
  const server = await serve((_incoming, answer) => {
    answer.writeHead(200)
    timers.add(setInterval(() => answer.write('x'), 5))
  })
  const drip = { ...get, stallMs: 300, stallBytes: 4_096 }
  await expectFailure(open(server.url).request(call(), drip), 'platform-timeout', 'unknown')
})

test('a platform that never answers is given up by its own limit', async () => {
  const server = await serve(() => {})
  const error = await expectFailure(
    open(server.url).request(call(), { ...get, answerMs: 100 }),
    'platform-timeout',
    'unknown',
  )
  expect(error.message).toContain('did not begin its answer')
})

test('the deadline of a call ends it, whatever it waits for', async () => {
  // The time must be long enough to connect in: before that, nothing is unknown.
  const timeoutMs = 1_500
  const silent = await serve(() => {})
  await expectFailure(open(silent.url).request(call({ timeoutMs }), get), 'platform-timeout', 'unknown')
  const half = await serve((_incoming, answer) => void answer.write('half'))
  const streamed = await open(half.url).stream(call({ timeoutMs }), { ...get, maxBytes: 100 })
  await expectFailure(drain(streamed.body), 'platform-timeout', 'unknown')
})

test('the signal of a call ends it at once with its own reason, and another call goes on', async () => {
  const waiting: (() => void)[] = []
  const server = await serve((incoming, answer) => {
    if (incoming.url === '/other') waiting.push(() => answer.end('fine'))
  })
  const http = open(server.url)
  const ending = new AbortController()
  const other = http.request(call(), { ...get, path: '/other' })
  const aborted = http.request(call({ signal: ending.signal }), get)
  await until(() => server.seen.requests === 2, { what: 'both requests to arrive' })
  ending.abort(new Error('the lease is gone'))
  await expect(settles(aborted, { what: 'the aborted call to end' })).rejects.toThrow('the lease is gone')
  await expect(http.request(call({ signal: ending.signal }), get)).rejects.toThrow('the lease is gone')
  for (const answer of waiting) answer()
  expect((await other).body.toString()).toBe('fine')
})

// promise: hostile-platform
test('what is packed is refused, so that nothing can swell up', async () => {
  const server = await serve((_incoming, answer) => {
    answer.writeHead(200, { 'content-encoding': 'gzip', 'content-type': 'application/json' })
    answer.end(Buffer.alloc(100))
  })
  const error = await expectFailure(
    open(server.url).request(call(), get),
    'platform-answer-invalid',
    'unknown',
  )
  expect(error.message).toContain('packed')
})

test('an answer of the wrong type is refused, and an error keeps its body whatever type it has', async () => {
  const server = await serve((incoming, answer) => {
    answer.writeHead(incoming.url === '/bad' ? 502 : 200, { 'content-type': 'text/html' })
    answer.end('<html>')
  })
  const http = open(server.url)
  const accept = ['application/json']
  const error = await expectFailure(
    http.request(call(), { ...get, accept }),
    'platform-answer-invalid',
    'unknown',
  )
  expect(error.message).toContain('text/html')
  const bad = await http.request(call(), { method: 'GET', path: '/bad', accept })
  expect([bad.status, bad.body.toString()]).toEqual([502, '<html>'])
})

// promise: password-to-platform
test('a redirect is not followed, and the error names where it leads', async () => {
  const other = await serve(ok)
  const server = await serve((_incoming, answer) => {
    answer.writeHead(302, { location: `http://127.0.0.1:${other.port}/steal` }).end()
  })
  const posting = open(server.url).request(call(), { method: 'POST', path: '/', body: 'password' })
  const error = await expectFailure(posting, 'platform-redirects', 'refused')
  expect(error.detail).toMatchObject({ redirects_to: `127.0.0.1:${other.port}` })
  expect(other.seen.requests).toBe(0)
})

test('an answer cut in the middle is no answer', async () => {
  const server = await serve((_incoming, answer) => {
    answer.writeHead(200, { 'content-length': '100' })
    answer.write('only this', () => answer.destroy())
  })
  await expectFailure(open(server.url).request(call(), get), 'platform-unreachable', 'unknown')
})

test('something that is no HTTP is named as that', async () => {
  const server = await serveRaw((socket) => socket.end('SSH-2.0-OpenSSH_9.2\r\n'))
  await expectFailure(open(server.url).request(call(), get), 'platform-answer-invalid', 'unknown')
})

test('headers without end are refused', async () => {
  const server = await serveRaw((socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}`)
  })
  await expectFailure(open(server.url).request(call(), get), 'platform-answer-invalid', 'unknown')
})

test('a port where nobody listens and a name that nobody knows are unreachable, and nothing happened', async () => {
  const port = await freePort()
  await expectFailure(
    open(`http://127.0.0.1:${port}`).request(call(), get),
    'platform-unreachable',
    'refused',
  )
  await expectFailure(open('https://nowhere.invalid').request(call(), get), 'platform-unreachable', 'refused')
})

test('a connection that the platform closed while it was kept is opened anew for what may be repeated', async () => {
  let answered = 0
  const server = await serveRaw((socket) => {
    let mine = 0
    socket.on('data', () => {
      mine += 1
      // Each connection answers once and hangs up on the second request.
      if (mine > 1) socket.resetAndDestroy()
      else {
        answered += 1
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
      }
    })
  })
  const http = open(server.url)
  await http.request(call(), get)
  expect((await http.request(call(), get)).body.toString()).toBe('ok')
  expect(answered).toBe(2)
  const once = { method: 'POST', path: '/', body: 'once' } as const
  await expectFailure(http.request(call(), once), 'platform-unreachable', 'unknown')
  expect(answered).toBe(2)
})
