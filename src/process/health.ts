import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { DroverError } from '../errors.ts'
import type { Logger } from './log.ts'
import { metricsText, startProcessMetrics } from './telemetry.ts'

/** A role that was started: what whoever started it needs to stop it. */
export interface RunningRole {
  readonly name: string
  /** Where it answers /healthz, /readyz and /metrics. */
  readonly port: number
  /** Drains, closes everything, and then resolves. */
  stop(): Promise<void>
}

export interface Readiness {
  readonly ready: boolean
  /** Why not: sentences for a person. */
  readonly reasons: readonly string[]
  /** What a person must mend although work can flow: a probe does not take the process out of traffic for it. */
  readonly warnings?: readonly string[]
}

export interface HealthOptions {
  readonly role: string
  readonly host: string
  /** 0 picks a free one. */
  readonly port: number
  readonly ready: () => Promise<Readiness>
  readonly log: Logger
}

export interface HealthServer {
  readonly port: number
  close(): Promise<void>
}

export interface HealthAnswer {
  readonly status: number
  readonly type: string
  readonly body: string
}

/** A check that hangs is a "no": orchestrators give a probe about this long. */
const checkMs = 2_000

/**
 * The answer to /healthz (the process runs), /readyz (work can flow) and /metrics, or undefined for another
 * path. The API serves it on its own port; the other roles through `serveHealth`.
 */
export const healthAnswer = async (
  path: string,
  options: Pick<HealthOptions, 'role' | 'ready'>,
): Promise<HealthAnswer | undefined> => {
  if (path === '/healthz') return json(200, { status: 'ok', role: options.role, pid: process.pid })
  if (path === '/metrics') return { status: 200, ...(await metricsText()) }
  if (path !== '/readyz') return undefined
  const facts = await checkReadiness(options.ready)
  return json(facts.ready ? 200 : 503, { role: options.role, ...facts })
}

const checkReadiness = async (ready: () => Promise<Readiness>): Promise<Readiness> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<Readiness>((resolve) => {
    const reasons = [`The check did not end within ${checkMs} ms.`]
    timer = setTimeout(() => resolve({ ready: false, reasons }), checkMs)
  })
  try {
    return await Promise.race([ready(), late])
  } catch (error) {
    return { ready: false, reasons: [`The check failed: ${(error as Error).message}`] }
  } finally {
    clearTimeout(timer)
  }
}

/** Serves health and metrics for a role that has no HTTP of its own. */
export const serveHealth = async (options: HealthOptions): Promise<HealthServer> => {
  startProcessMetrics(options.role)
  const server = createServer((request, response) => {
    const path = (request.url ?? '/').split('?', 1)[0] ?? '/'
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD')
      send(response, problem(405, 'method-not-allowed', 'Only GET and HEAD are answered here.'))
      return
    }
    healthAnswer(path, options).then(
      (answer) => send(response, answer ?? problem(404, 'not-found', 'Try /healthz, /readyz or /metrics.')),
      (error: unknown) => {
        options.log.error({ err: error, path }, 'a health request failed')
        send(response, problem(500, 'unexpected', 'The answer could not be made; the log says why.'))
      },
    )
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(listenError(options, error)))
    server.listen(options.port, options.host, resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

const json = (status: number, body: unknown): HealthAnswer => ({
  status,
  type: 'application/json; charset=utf-8',
  body: `${JSON.stringify(body)}\n`,
})

const problem = (status: number, code: string, detail: string): HealthAnswer => ({
  ...json(status, { status, code, detail }),
  type: 'application/problem+json',
})

const send = (response: ServerResponse, answer: HealthAnswer): void => {
  response.writeHead(answer.status, { 'content-type': answer.type, 'cache-control': 'no-store' })
  response.end(response.req.method === 'HEAD' ? undefined : answer.body)
}

const listenError = (options: HealthOptions, error: NodeJS.ErrnoException): Error => {
  if (error.code !== 'EADDRINUSE' && error.code !== 'EACCES' && error.code !== 'EADDRNOTAVAIL') return error
  const where = `${options.host}:${options.port}`
  const why = error.code === 'EADDRINUSE' ? 'another program uses it' : error.message
  return new DroverError(
    {
      code: 'address-unusable',
      class: 'config',
      message: `The ${options.role} cannot answer health checks at ${where}: ${why}.`,
      remedy:
        'Set DROVER_HEALTH_PORT to a free port (0 picks one), or DROVER_HEALTH_HOST to an address of this machine.',
      field: 'DROVER_HEALTH_PORT',
    },
    { cause: error },
  )
}
