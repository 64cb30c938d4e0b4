import { createServer, type Server, STATUS_CODES } from 'node:http'
import type { AddressInfo, Server as NetServer, Socket } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { openDb } from '../../db/client.ts'
import { openWayIn } from '../api/access/way-in.ts'
import { createApi } from '../api/app.ts'
import { boundConnections } from '../api/http/bound-connections.ts'
import type { ApiDeps } from '../api/http/env.ts'
import { FilterTurns } from '../api/http/filter-turns.ts'
import { listenLocally } from '../api/http/local-socket.ts'
import { SignIns } from '../api/http/sign-ins.ts'
import { Streams } from '../api/http/streams.ts'
import { apiLimits } from '../api/wire/api-limits.ts'
import { problem, renderProblem } from '../api/wire/problem.ts'
import { systemClock } from '../clock.ts'
import { type Config, requireSecretKey } from '../config/config.ts'
import { createConsole } from '../console/console.ts'
import { DroverError } from '../errors.ts'
import { openBell } from '../ledger/bell/bell.ts'
import { warnOfPower } from '../ledger/conductor/warn-of-power.ts'
import { EventFeed } from '../ledger/events/event-feed.ts'
import type { RunningRole } from '../process/health.ts'
import { createLog, type Logger } from '../process/log.ts'
import { startProcessMetrics, startTracing } from '../process/telemetry.ts'
import { createSealer } from '../seal/seal.ts'
import { checkStartUnlessAway } from '../sealing/key-check.ts'
import { keyWatch } from '../sealing/key-watch.ts'

/** The pool's size: enough for a busy console and many scripts, few enough that ten APIs fit one Postgres. */
const poolMax = 12
/** The server's side of a statement ends before the request's deadline does. */
const statementMs = 4_500
const connectMs = 2_500

/**
 * Starts the API: pool, bell for the board, event feed, HTTP. It starts and works without the bell store, and
 * it starts while the database is away (answering 503) unless it has a preset token to store.
 */
export const runApi = async (config: Config): Promise<RunningRole> => {
  const { databaseUrl } = config
  if (databaseUrl === undefined) throw missing('DATABASE_URL', 'The API needs a database.')
  const sealer = createSealer(requireSecretKey(config), config.oldSecretKeys)
  const log = createLog({ role: 'api', level: config.logLevel })
  const db = openDb({ url: databaseUrl, max: poolMax, applicationName: 'drover-api', statementMs, connectMs })
  const events = new EventFeed({ db, clock: systemClock, log })
  const parts = { db, clock: systemClock, log, limits: apiLimits }
  const streams = new Streams(parts)
  const signIns = new SignIns(parts)
  const tracing = await startTracing(config, 'api')
  const closers: (() => Promise<unknown>)[] = [() => db.end({ timeout: 5 }), () => tracing.stop()]
  try {
    await checkStartUnlessAway(db, sealer, log)
    await openWayIn(config, { db, log })
    const bell = await openBell(config, { databaseUrl, log })
    closers.unshift(() => bell.close())
    startProcessMetrics('api')
    const deps: ApiDeps = {
      ...parts,
      sealer,
      leaseMs: config.leaseMs,
      eventsKeptDaysMin: config.eventsKeptDaysMin,
      host: config.host,
      front: config.front,
      bell,
      events,
      streams,
      filters: new FilterTurns({ clock: systemClock }),
      signIns,
    }
    const server = createHttpServer({ ...deps, console: createConsole(deps) })
    await listen(server, config)
    const local =
      config.socketPath === undefined ? undefined : await listenLocally(server, config.socketPath, deps)
    events.start()
    void warnOfPower(db, { role: 'api', log })
    const watch = keyWatch({ db, sealer, clock: systemClock, log })
    watch.start()
    closers.unshift(
      () => events.stop(),
      () => watch.stop(),
      // Who was counted up to now is told of while the database is still open.
      () => signIns.tell(),
    )
    const { port } = server.address() as AddressInfo
    log.info({ host: config.host, port, publicUrl: config.front.publicUrl?.origin }, 'the API answers')
    return { name: 'api', port, stop: stopper({ server, local }, streams, closers, log, config.drainMs) }
  } catch (error) {
    await closeAll(closers, log)
    throw error
  }
}

/** The API behind Node's HTTP server, with bounds on what a client may do before a request even exists. */
export const createHttpServer = (deps: ApiDeps): Server => {
  const app = createApi(deps)
  const listener = getRequestListener(app.fetch, {
    errorHandler: (error) => {
      deps.log.debug({ err: error }, 'a request could not be read')
      return malformed()
    },
  })
  const server = createServer(
    {
      maxHeaderSize: deps.limits.headerBytes,
      headersTimeout: 10_000,
      requestTimeout: 30_000,
      keepAliveTimeout: 30_000,
      connectionsCheckingInterval: 2_000,
      noDelay: true,
    },
    (request, response) => void listener(request, response),
  )
  server.maxHeadersCount = 100
  boundConnections(server, deps.limits.connections, { ...deps, door: 'network' })
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (!socket.writable) return
    socket.end(rawProblem(error.code === 'HPE_HEADER_OVERFLOW' ? 'headers-too-large' : 'bad-request'))
  })
  return server
}

const malformed = (): Response => {
  const error = problem('bad-request', 'The request cannot be read.')
  return new Response(JSON.stringify(renderProblem(error, crypto.randomUUID())), {
    status: error.status,
    headers: { 'Content-Type': 'application/problem+json' },
  })
}

/** An answer for a client whose request never became one. */
const rawProblem = (code: 'bad-request' | 'headers-too-large'): string => {
  const error = problem(code, 'The request cannot be read.')
  const body = JSON.stringify(renderProblem(error, crypto.randomUUID()))
  return [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`,
    'Content-Type: application/problem+json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n')
}

const listen = (server: Server, config: Config): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(listenError(config, error)))
    server.listen(config.port, config.host, resolve)
  })

const listenError = (config: Config, error: NodeJS.ErrnoException): Error => {
  if (!['EADDRINUSE', 'EACCES', 'EADDRNOTAVAIL', 'ENOTFOUND'].includes(error.code ?? '')) return error
  const why = error.code === 'EADDRINUSE' ? 'another program uses it' : error.message
  return new DroverError(
    {
      code: 'address-unusable',
      class: 'config',
      message: `The API cannot listen on ${config.host}:${config.port}: ${why}.`,
      remedy: 'Set DROVER_PORT to a free port, or DROVER_HOST to an address of this machine.',
      field: 'DROVER_PORT',
    },
    { cause: error },
  )
}

/** Takes no new connection, ends the streams, lets what is under way finish, then closes the rest. */
const stopper = (
  { server, local }: { readonly server: Server; readonly local: NetServer | undefined },
  streams: Streams,
  closers: readonly (() => Promise<unknown>)[],
  log: Logger,
  drainMs: number,
): (() => Promise<void>) => {
  let stopping: Promise<void> | undefined
  const stop = async () => {
    const closed = Promise.all(
      [server, local].map(
        (one) => new Promise<void>((resolve) => (one ? one.close(() => resolve()) : resolve())),
      ),
    )
    streams.close()
    // A connection falls idle when its answer ends, which may be after the close.
    const idle = setInterval(() => server.closeIdleConnections(), 25)
    const timer = setTimeout(() => server.closeAllConnections(), Math.min(drainMs, apiLimits.requestMs))
    await closed
    clearTimeout(timer)
    clearInterval(idle)
    await closeAll(closers, log)
  }
  return () => {
    stopping ??= stop()
    return stopping
  }
}

const closeAll = async (closers: readonly (() => Promise<unknown>)[], log: Logger): Promise<void> => {
  for (const close of closers)
    await close().catch((error: unknown) => log.warn({ err: error }, 'a part did not close cleanly'))
}

const missing = (field: string, message: string): DroverError =>
  new DroverError({
    code: 'config-invalid',
    class: 'config',
    message,
    remedy: `Set ${field} (or ${field}_FILE) in the environment.`,
    field,
  })
