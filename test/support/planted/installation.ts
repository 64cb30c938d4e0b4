import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname } from 'node:path'
import postgres from 'postgres'
import { atEnd } from '../cleanup.ts'
import { startOwnPostgres } from '../postgres.ts'
import { startRole, type TestProcess } from '../processes.ts'
import { startRedis } from '../redis.ts'
import { tempDir } from '../temp.ts'
import { until } from '../wait.ts'
import { distinct, distinctWord, type Planted } from './forms.ts'

const startMs = 120_000

/** An installation of real roles, every secret of which is known. */
export interface PlantedInstallation {
  readonly secrets: readonly Planted[]
  readonly base: string
  readonly databaseUrl: string
  /** Where Postgres keeps its files, its log among them. */
  readonly databaseDir: string
  readonly redis: { readonly url: string; readonly dir: string } | undefined
  readonly processes: readonly TestProcess[]
  /** Where each role answers for its health and metrics. */
  readonly healthPorts: readonly number[]
  readonly reportDir: string
  /** What the collector of traces was sent; its header apart. */
  readonly traces: readonly string[]
  readonly ask: Ask
  addSecret(name: string, value: string): void
}

export type Ask = <Answer = Record<string, unknown>>(
  request: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<{ readonly status: number; readonly body: Answer; readonly headers: Headers }>

const startCollector = async (): Promise<{ url: string; traces: string[] }> => {
  const traces: string[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      traces.push(Buffer.concat(chunks).toString('latin1'))
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  atEnd(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, traces }
}

const startBell = async (bell: 'redis' | 'postgres') => {
  if (bell === 'postgres') return undefined
  const redis = await startRedis({ persistence: 'aof' })
  const password = distinctWord('redis-password')
  const control = new URL(redis.url)
  const dir = await redis.directory()
  await redis.send(`CONFIG SET requirepass ${password}`)
  control.password = password
  return { url: control.href, dir, password }
}

const dataDirectory = async (url: string): Promise<string> => {
  const db = postgres(url, { max: 1 })
  const [row] = await db<
    { dataDirectory: string }[]
  >`select current_setting('data_directory') as "dataDirectory"`
  await db.end({ timeout: 5 })
  return dirname(row?.dataDirectory ?? '')
}

const portOf = async (role: TestProcess, text: string): Promise<number> => {
  const [, port = ''] = await role.line(new RegExp(`"port":(\\d+).*"msg":"${text}"`), { withinMs: startMs })
  return Number(port)
}

const askOf =
  (base: string, token: string): Ask =>
  async (request, body, headers = {}) => {
    const [method = 'GET', path = '/'] = request.split(' ')
    const answer = await fetch(`${base}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(method === 'GET' ? {} : { 'idempotency-key': crypto.randomUUID() }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    return { status: answer.status, body: (text ? JSON.parse(text) : {}) as never, headers: answer.headers }
  }

/** Starts every role by itself, each secret given as a person gives it. */
export const plantInstallation = async (kind: 'redis' | 'postgres'): Promise<PlantedInstallation> => {
  const [server, bell, collector, reportDir] = await Promise.all([
    startOwnPostgres(),
    startBell(kind),
    startCollector(),
    tempDir('reports'),
  ])
  const given = {
    admin: distinctWord('admin-token'),
    key: Buffer.from(distinctWord('k')).toString('hex').slice(0, 64),
    lab: distinct('lab-password'),
    labAdmin: distinctWord('lab-admin-token'),
    otlp: distinctWord('otlp-header'),
  }
  const shared = {
    DATABASE_URL: server.url,
    ...(bell ? { REDIS_URL: bell.url } : {}),
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: `authorization=${given.otlp}`,
    NODE_OPTIONS: `--report-on-signal --report-directory=${reportDir}`,
    DROVER_LEASE_MS: '3000',
    DROVER_LOG_LEVEL: 'trace',
  }
  const env = { ...shared, DROVER_SECRET_KEY: given.key }
  const lab = await startRole('lab', {
    ...shared,
    DROVER_LAB_PORT: '0',
    DROVER_LAB_PASSWORD: given.lab,
    DROVER_LAB_ADMIN_TOKEN: given.labAdmin,
  })
  const [api, conductor, worker] = await Promise.all([
    startRole('api', { ...env, DROVER_ADMIN_TOKEN: given.admin }),
    startRole('conductor', env),
    startRole('worker', env),
  ])
  const [labPort, apiPort, ...healthPorts] = await Promise.all([
    portOf(lab, 'lab runs'),
    portOf(api, 'api runs'),
    portOf(conductor, 'conductor runs'),
    portOf(worker, 'worker runs'),
  ])
  const base = `http://127.0.0.1:${apiPort}`
  const secrets: Planted[] = [
    { name: 'admin token', value: given.admin },
    { name: 'sealing key', value: given.key },
    { name: 'sealing key, as bytes', value: Buffer.from(given.key, 'hex').toString() },
    { name: 'password of a site', value: given.lab },
    { name: 'admin token of the lab', value: given.labAdmin },
    { name: 'header for traces', value: given.otlp },
    { name: 'password of the database', value: new URL(server.url).password },
    ...(bell ? [{ name: 'password of Redis', value: bell.password }] : []),
  ]
  const ask = askOf(base, given.admin)
  const processes = [lab, api, conductor, worker]
  const installation = {
    secrets,
    base,
    databaseUrl: server.url,
    databaseDir: await dataDirectory(server.url),
    redis: bell,
    processes,
    healthPorts,
    reportDir,
    traces: collector.traces,
    ask,
    addSecret: (name: string, value: string) => void secrets.push({ name, value }),
  }
  await useInstallation(installation, { labUrl: `http://127.0.0.1:${labPort}`, password: given.lab, env })
  return installation
}

interface Using {
  readonly labUrl: string
  readonly password: string
  readonly env: Record<string, string>
}

/** Has everything happen in which a secret has a part: syncs, checks, webhooks, sign-ins, a batch, a crash. */
const useInstallation = async (
  installation: PlantedInstallation & { processes: TestProcess[] },
  { labUrl, password, env }: Using,
): Promise<void> => {
  const { ask, addSecret, base } = installation
  await addSites(ask, labUrl, password)
  await addHooks(installation)
  for (const role of ['viewer', 'operator']) {
    const { body } = await ask<{ secret: string }>('POST /v1/tokens', { name: `the-${role}`, role })
    addSecret(`${role} token`, body.secret)
  }
  await failToSignIn(installation)
  const [doomed] = [await startRole('worker', env)]
  await doomed.line('worker runs', { withinMs: startMs })
  installation.processes.push(doomed)
  await ask('POST /v1/self-tests', { jobs: 20 })
  await doomed.crash()
  await ask('POST /v1/batches', {
    name: 'planted',
    include_expression: 'source == "planted-source"',
    defaults: { placement: { target: 'planted-target', target_project: 'default', storage_pool: 'local' } },
  })
  const plan = await ask<{ id: string }>('POST /v1/batches/planted/:plan')
  await jobEnds(ask, plan.body.id)
  await ask('POST /v1/batches/planted/:start')
  // The failing one was tried, and the working one has heard of what happened.
  await until(
    async () => {
      const { body } = await ask<{
        items: { delivery: { failures: number; last_delivered_at: string | null } }[]
      }>('GET /v1/webhooks')
      const deliveries = body.items.map(({ delivery }) => delivery)
      return (
        deliveries.some(({ failures }) => failures > 0) && deliveries.some((one) => one.last_delivered_at)
      )
    },
    { what: 'a webhook to fail and one to be delivered', withinMs: startMs },
  )
  expectStatus(await fetch(`${base}/login`), 200)
}

const expectStatus = ({ status, url }: Response, wanted: number): void => {
  if (status !== wanted) throw new Error(`${url} answered ${status}.`)
}

const jobEnds = async (ask: Ask, id: string): Promise<string> =>
  until(
    async () => {
      const { body } = await ask<{ state: string }>(`GET /v1/jobs/${id}`)
      return ['succeeded', 'failed', 'canceled'].includes(body.state) && body.state
    },
    { what: `job ${id} to end`, withinMs: startMs },
  )

const addSites = async (ask: Ask, labUrl: string, password: string): Promise<void> => {
  for (const [role, name, site] of [
    ['sources', 'planted-source', 'vcenter'],
    ['targets', 'planted-target', 'cloud'],
  ] as const) {
    const added = await ask(`POST /v1/${role}`, {
      name,
      kind: 'lab',
      endpoint: `${labUrl}/sites/${site}`,
      username: 'drover',
      password,
    })
    if (added.status >= 300) throw new Error(`${name} was not added: ${JSON.stringify(added.body)}`)
    await until(
      async () =>
        (await ask<{ connectivity: { state: string } }>(`GET /v1/${role}/${name}`)).body.connectivity
          .state === 'ok',
      { what: `${name} to be reached`, withinMs: startMs },
    )
    const sync = await ask<{ id: string }>(`POST /v1/${role}/${name}/:sync`, { mode: 'full' })
    const ended = await jobEnds(ask, sync.body.id)
    if (ended !== 'succeeded') throw new Error(`The sync of ${name} ${ended}.`)
    await ask(`POST /v1/${role}/${name}/:check`)
  }
  // One whose password is wrong: its failure is told everywhere.
  await ask('POST /v1/sources', {
    name: 'refused-source',
    kind: 'lab',
    endpoint: `${labUrl}/sites/esx`,
    username: 'drover',
    password: `${password}-wrong`,
  })
}

const addHooks = async ({ ask, addSecret }: PlantedInstallation): Promise<void> => {
  const paths = { working: distinctWord('hook-path-a'), failing: distinctWord('hook-path-b') }
  const server = createServer((request, response) => {
    request.resume()
    response.writeHead(request.url?.includes(paths.working) ? 204 : 500).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  atEnd(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const { port } = server.address() as AddressInfo
  for (const [name, path] of Object.entries(paths)) {
    const url = `http://127.0.0.1:${port}/services/${path}`
    const { body } = await ask<{ secret: string }>('POST /v1/webhooks', { name, url })
    addSecret(`secret of the ${name} webhook`, body.secret)
    addSecret(`path of the ${name} webhook`, path)
  }
}

const failToSignIn = async ({ base, addSecret }: PlantedInstallation): Promise<void> => {
  for (const how of ['header', 'form', 'URL']) {
    const wrong = distinctWord(`wrong-token-${how}`)
    addSecret(`wrong token in a ${how}`, wrong)
    if (how === 'header') await fetch(`${base}/v1/jobs`, { headers: { authorization: `Bearer ${wrong}` } })
    if (how === 'URL') await fetch(`${base}/v1/jobs?token=${wrong}`)
    if (how === 'form')
      await fetch(`${base}/login`, { method: 'POST', body: new URLSearchParams({ token: wrong, next: '/' }) })
  }
}

/** A browser's way in: the cookie, which is as good as the token that it stands for. */
export const signIn = async (installation: PlantedInstallation): Promise<string> => {
  const token = installation.secrets.find(({ name }) => name === 'admin token')?.value ?? ''
  const answer = await fetch(`${installation.base}/login`, {
    method: 'POST',
    body: new URLSearchParams({ token, next: '/' }),
    redirect: 'manual',
  })
  const cookie = (answer.headers.getSetCookie()[0] ?? '').split(';')[0] ?? ''
  const value = cookie.slice(cookie.indexOf('=') + 1)
  if (value === '') throw new Error(`No session: ${answer.status}.`)
  installation.addSecret('session cookie', decodeURIComponent(value))
  return cookie
}

/** Node writes a report of itself on a signal, as it would when it crashes: with its environment. */
export const takeReports = async (installation: PlantedInstallation, read: () => number): Promise<void> => {
  const living = installation.processes.filter(({ running }) => running)
  for (const { pid } of living) process.kill(pid, 'SIGUSR2')
  await until(() => read() >= living.length, { what: 'the reports to be written' })
}
