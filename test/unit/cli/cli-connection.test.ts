import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { runCli } from '../../../src/cli/run.ts'
import { identify } from '../../../src/standalone/process-identity.ts'
import { atEnd } from '../../support/cleanup.ts'
import { tempDir } from '../../support/temp.ts'

const run = async (args: readonly string[], env: NodeJS.ProcessEnv) => {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const code = await runCli(args, { env, stdout, stderr, signal: new AbortController().signal })
  return { code, stdout: String(stdout.read() ?? ''), stderr: String(stderr.read() ?? '') }
}

interface Listener {
  readonly server: Server
  /** What it was sent, as `GET /v1/job-kinds Bearer drv_…`. */
  readonly heard: string[]
}

const listener = (answer?: (request: IncomingMessage) => Record<string, string>): Listener => {
  const heard: string[] = []
  const server = createServer((request, response) => {
    heard.push(`${request.method} ${request.url} ${request.headers.authorization ?? 'no token'}`)
    const headers = answer?.(request) ?? {}
    response.writeHead(headers.location ? 307 : 200, { 'content-type': 'application/json', ...headers })
    response.end('{"items": []}')
  })
  atEnd(() => new Promise((resolve) => server.close(resolve)))
  return { server, heard }
}

const onPort = async (server: Server, port = 0): Promise<string> => {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** A data directory as a start leaves it; `holder` is who its lock names. */
const dataDir = async (holder: object, token = 'drv_local'): Promise<string> => {
  const dir = await tempDir('cli')
  writeFileSync(join(dir, 'drover.lock'), JSON.stringify(holder), { mode: 0o600 })
  writeFileSync(join(dir, 'local.token'), `${token}\n`, { mode: 0o600 })
  return dir
}

const onSocket = async (server: Server, path: string): Promise<void> => {
  mkdirSync(dirname(path), { mode: 0o700, recursive: true })
  await new Promise<void>((resolve) => server.listen(path, resolve))
}

const dead = { pid: 2 ** 30, started: 'long ago', since: 'then' }
const ourselves = { ...identify(process.pid), since: 'now' }

// promise: local-token
test('a program that listens where the API used to be gets no token', async () => {
  const fake = listener()
  const address = await onPort(fake.server)
  const port = new URL(address).port
  const dir = await dataDir({ ...dead, address })
  const env = { DROVER_DATA_DIR: dir, DROVER_PORT: port }
  for (const own of [{}, { DROVER_TOKEN: 'drv_mine_and_long_enough' }, { DROVER_URL: address }])
    await run(['kinds'], { ...env, ...own })
  expect(fake.heard).toEqual(['GET /v1/job-kinds no token'])
})

// promise: local-token
test('the data of a process that has ended is refused, with what to do', async () => {
  const fake = listener()
  const dir = await dataDir(dead)
  const socket = join(dir, 'socket', 'api.sock')
  await onSocket(fake.server, socket)
  writeFileSync(join(dir, 'drover.lock'), JSON.stringify({ ...dead, socket }))
  const seen = await run(['kinds'], { DROVER_DATA_DIR: dir })
  expect(seen).toMatchObject({ code: 3, stdout: '' })
  expect(seen.stderr).toMatch(/has ended without a word[\s\S]*npm start/)
  expect(fake.heard).toEqual([])
  const doctor = await run(['doctor'], { DROVER_DATA_DIR: dir })
  expect(doctor.code).toBe(3)
  expect(doctor.stdout).toMatch(/fail +api +The Drover in .* has ended/)
})

test('a living Drover is asked on its socket, with the token that its data has now', async () => {
  const real = listener()
  const dir = await dataDir(dead)
  const socket = join(dir, 'socket', 'api.sock')
  await onSocket(real.server, socket)
  writeFileSync(join(dir, 'drover.lock'), JSON.stringify({ ...ourselves, socket }))
  const env = { DROVER_DATA_DIR: dir }
  expect((await run(['kinds'], env)).code).toBe(0)
  writeFileSync(join(dir, 'local.token'), 'drv_renewed\n')
  expect((await run(['kinds'], env)).code).toBe(0)
  expect((await run(['kinds'], { ...env, DROVER_TOKEN: 'drv_mine' })).code).toBe(0)
  expect(real.heard).toEqual([
    'GET /v1/job-kinds Bearer drv_local',
    'GET /v1/job-kinds Bearer drv_renewed',
    'GET /v1/job-kinds Bearer drv_mine',
  ])
  expect((await run(['doctor'], env)).stdout).toMatch(/ok +api +answers at the socket .*api\.sock in \d+ ms/)
})

test('where no Drover runs nothing is asked, and the remedy names both ways', async () => {
  const seen = await run(['kinds'], { HOME: await tempDir('cli'), DROVER_DATA_DIR: await tempDir('cli') })
  expect(seen).toMatchObject({ code: 3, stdout: '' })
  expect(seen.stderr).toMatch(/No Drover runs in[\s\S]*npm start[\s\S]*DROVER_URL/)
})

test('a token does not go over plain HTTP beyond this machine, unless a person said so', async () => {
  const env = { DROVER_URL: 'http://drover.invalid:7070', DROVER_TOKEN: 'drv_mine' }
  const refused = await run(['kinds'], env)
  expect(refused).toMatchObject({ code: 2, stdout: '' })
  expect(refused.stderr).toMatch(/plain HTTP.*https:\/\/.*--insecure-http.*DROVER_INSECURE_HTTP=1/)
  for (const seen of [
    await run(['kinds', '--insecure-http', '--json'], env),
    await run(['kinds'], { ...env, DROVER_INSECURE_HTTP: '1' }),
  ]) {
    expect(seen.code).toBe(3)
    expect(seen.stderr).toMatch(/^Your token goes to http:\/\/drover\.invalid:7070 unencrypted/)
  }
  const { stderr } = await run(['kinds'], { ...env, DROVER_TOKEN: undefined })
  expect(stderr).not.toContain('plain HTTP')
})

test('a redirect takes no token along', async () => {
  const thief = listener()
  const there = await onPort(thief.server)
  const lure = listener(() => ({ location: `${there}/v1/kinds` }))
  const seen = await run(['kinds'], { DROVER_URL: await onPort(lure.server), DROVER_TOKEN: 'drv_mine' })
  expect(seen.code).toBe(3)
  expect(seen.stderr).toContain('redirect')
  expect(lure.heard).toEqual(['GET /v1/job-kinds Bearer drv_mine'])
  expect(thief.heard).toEqual([])
})

test('who has no data directory left is told so before anything is sent', async () => {
  const dir = await dataDir({ ...ourselves, socket: '/nowhere/api.sock' })
  expect((await run(['kinds'], { DROVER_DATA_DIR: dir })).stderr).toContain('is not there')
  rmSync(join(dir, 'drover.lock'))
  writeFileSync(join(dir, 'drover.lock'), JSON.stringify(ourselves))
  expect((await run(['kinds'], { DROVER_DATA_DIR: dir })).stderr).toContain('still starting')
})

test('what is sent, downloads of any size and streams go over the socket, and a stream goes on with the renewed token', async () => {
  const heard: string[] = []
  const csv = `"name"\r\n${`"${'n'.repeat(1_000)}"\r\n`.repeat(5_000)}`
  let follows = 0
  const server = createServer((request, response) => void answer(request, response))
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    const { pathname } = new URL(request.url ?? '/', 'http://localhost')
    heard.push(`${request.method} ${pathname} ${request.headers.authorization} ${body}`)
    response.writeHead(200, { 'content-type': 'application/json' })
    if (pathname === '/v1/assessment') response.end(csv)
    else if (pathname !== '/v1/events/stream') response.end('{"items": []}')
    else {
      follows += 1
      response.end(`id: ${follows}\ndata: {"id":"${follows}"}\n\n`)
      writeFileSync(join(dir, 'local.token'), `drv_renewed_${follows}\n`)
    }
  }
  atEnd(() => new Promise((resolve) => server.close(resolve)))
  const dir = await dataDir(dead)
  const socket = join(dir, 'socket', 'api.sock')
  await onSocket(server, socket)
  writeFileSync(join(dir, 'drover.lock'), JSON.stringify({ ...ourselves, socket }))

  const stop = new AbortController()
  const said: string[] = []
  const ask = (args: readonly string[]) => {
    const stdout = new PassThrough()
    stdout.on('data', (chunk: Buffer) => {
      said.push(chunk.toString())
      if (said.join('').includes('"id":"2"')) stop.abort()
    })
    const env = { DROVER_DATA_DIR: dir }
    return runCli(args, { env, stdout, stderr: new PassThrough(), signal: stop.signal })
  }
  expect(await ask(['pause', 'kind', 'self-test', '--reason', 'because'])).toBe(0)
  said.length = 0
  expect(await ask(['assessment', '--csv'])).toBe(0)
  expect(said.join('')).toBe(csv)
  said.length = 0
  await ask(['events', '--follow', '--json'])
  expect(said.join('')).toBe('{"id":"1"}\n{"id":"2"}\n')
  expect(heard[0]).toMatch(/^POST \/v1\/pauses Bearer drv_local .*"because"/)
  expect(heard.slice(2)).toEqual([
    'GET /v1/events/stream Bearer drv_local ',
    'GET /v1/events/stream Bearer drv_renewed_1 ',
  ])
})
