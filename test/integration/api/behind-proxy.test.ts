import { readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readConfig } from '../../../src/config/config.ts'
import { runApi } from '../../../src/roles/api.ts'
import { adminEnv, adminToken } from '../../support/admin-token.ts'
import { atEnd } from '../../support/cleanup.ts'
import { createDatabase } from '../../support/postgres.ts'
import { repositoryRoot, startProcess } from '../../support/processes.ts'
import { selfSigned } from '../../support/self-signed.ts'
import { freePort, tempDir } from '../../support/temp.ts'
import { until } from '../../support/wait.ts'

const { db, url: databaseUrl } = await createDatabase()
const name = 'drover.example.com'
const certificate = selfSigned({ host: name })
const port = await freePort()
const origin = `https://${name}:${port}`

const api = await runApi(
  readConfig({
    ...adminEnv,
    DATABASE_URL: databaseUrl,
    DROVER_SECRET_KEY: 'a'.repeat(64),
    DROVER_PORT: '0',
    DROVER_PUBLIC_URL: origin,
    DROVER_TRUSTED_PROXIES: '127.0.0.1',
    DROVER_LOG_LEVEL: 'silent',
  }),
)
atEnd(() => api.stop())

/** The text of the manual, with this test's ports and files in the place of those of a real machine. */
const site = (dir: string): string => {
  const manual = readFileSync(join(repositoryRoot, 'docs', 'production.md'), 'utf8')
  const [, text = ''] = /```nginx\n([\s\S]*?)```/.exec(manual) ?? []
  const here: readonly [string, string][] = [
    ['listen 443 ssl', `listen 127.0.0.1:${port} ssl`],
    ['/etc/ssl/drover.', join(dir, 'drover.')],
    ['http://127.0.0.1:7070', `http://127.0.0.1:${api.port}`],
  ]
  for (const [there] of here) expect(text).toContain(there)
  return here.reduce((changed, [there, other]) => changed.replaceAll(there, other), text)
}

const startNginx = async () => {
  const dir = await tempDir()
  writeFileSync(join(dir, 'drover.crt'), certificate.cert)
  writeFileSync(join(dir, 'drover.key'), certificate.key, { mode: 0o600 })
  writeFileSync(join(dir, 'site.conf'), site(dir))
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (what) => `${what}_temp_path ${join(dir, what)};`,
  )
  writeFileSync(
    join(dir, 'nginx.conf'),
    `daemon off;
worker_processes 1;
pid ${join(dir, 'nginx.pid')};
error_log stderr notice;
events {}
http { access_log off; ${temporary.join(' ')} include ${join(dir, 'site.conf')}; }
`,
  )
  const args = ['-e', 'stderr', '-p', dir, '-c', join(dir, 'nginx.conf')]
  const nginx = await startProcess({ command: '/usr/sbin/nginx', args })
  await nginx.line('start worker processes')
}

interface Answer {
  readonly status: number
  readonly headers: Record<string, string | string[] | undefined>
  readonly text: string
}

interface Ask {
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: string
  /** Where this client sits. */
  readonly from?: string
  /** Gives the answer as it stands when the text is so far; without it the answer is read to its end. */
  readonly enough?: (text: string) => boolean
  /** Called with all there is so far. */
  readonly onText?: (text: string) => void
}

/** A client that trusts this one certificate and asks by its name, as a browser does. */
const ask = (path: string, options: Ask = {}): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const asking = request(
      {
        ...{ host: '127.0.0.1', port, path, servername: name, ca: certificate.cert, agent: false },
        method: options.method ?? 'GET',
        localAddress: options.from ?? '127.0.0.2',
        headers: { host: `${name}:${port}`, ...options.headers },
      },
      (response) => {
        let text = ''
        const answer = () => ({ status: response.statusCode ?? 0, headers: response.headers, text })
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk
          options.onText?.(text)
          if (!options.enough?.(text)) return
          resolve(answer())
          asking.destroy()
        })
        response.on('end', () => resolve(answer()))
        response.on('error', reject)
      },
    )
    asking.on('error', reject)
    asking.end(options.body)
  })

const form = { 'content-type': 'application/x-www-form-urlencoded' }
const signIn = (token: string, headers: Record<string, string> = {}, from = '127.0.0.2') =>
  ask('/login', {
    ...{ method: 'POST', from, body: new URLSearchParams({ token, next: '/jobs' }).toString() },
    headers: { ...form, origin, 'sec-fetch-site': 'same-origin', ...headers },
  })
const cookieOf = ({ headers }: Answer): string => String(headers['set-cookie']).split(';')[0] ?? ''
const act = (cookie: string, headers: Record<string, string> = {}) =>
  ask('/v1/self-tests', {
    ...{ method: 'POST', body: '{"jobs":1}' },
    headers: { cookie, 'content-type': 'application/json', origin, ...headers },
  })

await startNginx()

// promise: behind-proxy
test('behind the proxy of the manual a person signs in, acts, follows and signs out', async () => {
  const away = await ask('/', { headers: { accept: 'text/html' } })
  expect([away.status, away.headers.location]).toEqual([303, '/login?next=%2F'])
  const entered = await signIn(adminToken)
  expect([entered.status, entered.headers.location]).toEqual([303, '/jobs'])
  const [set] = [entered.headers['set-cookie']].flat()
  expect(set).toMatch(/^__Host-drover_session=/)
  for (const part of ['Path=/', 'HttpOnly', 'Secure', 'SameSite=Strict']) expect(set).toContain(part)
  expect(set).not.toContain('Domain')
  const cookie = cookieOf(entered)
  expect((await ask('/jobs', { headers: { cookie } })).status).toBe(200)
  const following = ask('/v1/events/stream?types=self-test.*,job.*', {
    ...{ headers: { cookie }, enough: (text) => text.includes('event: job.created') },
  })
  await until(async () => (await act(cookie)).status === 202, { what: 'work to be taken' })
  const stream = await following
  expect([stream.status, stream.headers['content-type']]).toEqual([200, 'text/event-stream'])
  expect((await ask('/logout', { method: 'POST', headers: { cookie, origin } })).status).toBe(303)
  expect((await ask('/v1/jobs', { headers: { cookie } })).status).toBe(401)
})

test('a stream ends behind the proxy too when who opened it signs out', async () => {
  const cookie = cookieOf(await signIn(adminToken))
  let seen = ''
  const onText = (text: string) => {
    seen = text
  }
  const following = ask('/v1/events/stream', { headers: { cookie }, onText })
  await until(() => seen.includes(': connected'), { what: 'the stream to begin' })
  await ask('/logout', { method: 'POST', headers: { cookie, origin } })
  expect((await following).status).toBe(200)
})

// promise: behind-proxy
test('another site, another scheme and another name are refused behind the proxy', async () => {
  const cookie = cookieOf(await signIn(adminToken))
  const foreign = ['https://evil.example', `http://${name}:${port}`, `https://${name}`, 'null']
  for (const other of [...foreign, `https://evil.${name}:${port}`]) {
    const refused = await act(cookie, { origin: other })
    expect([other, refused.status, JSON.parse(refused.text).code]).toEqual([other, 403, 'cross-origin'])
    expect([other, (await signIn(adminToken, { origin: other })).status]).toEqual([other, 403])
  }
  expect((await act(cookie, { 'sec-fetch-site': 'same-site' })).status).toBe(403)
  for (const host of ['evil.example', `evil.example:${port}`, `${name}.evil.example`])
    expect([host, (await ask('/login', { headers: { host } })).status]).toEqual([host, 421])
  const direct = await fetch(`http://127.0.0.1:${api.port}/v1/jobs`, {
    headers: { cookie: cookie.replace('__Host-', '') },
  })
  expect(direct.status).toBe(401)
})

test('each who asks through the proxy has a limit of its own, whatever a client says of itself', async () => {
  const wrong = 'drv_00000000_guess-guess-guess'
  const lie = { 'x-forwarded-for': '127.0.0.9' }
  await until(async () => (await signIn(wrong, lie, '127.0.0.3')).status === 429, {
    what: 'the guesser to wait',
  })
  expect((await signIn(wrong, lie, '127.0.0.4')).status).toBe(401)
  expect((await signIn(adminToken, lie, '127.0.0.3')).status).toBe(303)
  const told = await db<{ detail: { peer: string } }[]>`
    select detail from event where type = 'session.started' order by era desc, xid desc, id desc limit 1`
  expect(told[0]?.detail.peer).toBe('127.0.0.3')
})
