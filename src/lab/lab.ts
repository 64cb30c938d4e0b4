import { randomBytes } from 'node:crypto'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { type Db, openDb } from '../../db/client.ts'
import { type Clock, systemClock } from '../clock.ts'
import { DroverError } from '../errors.ts'
import { healthAnswer } from '../process/health.ts'
import { createLog, type Logger } from '../process/log.ts'
import { serveAdmin } from './http/admin-server.ts'
import { deliver } from './http/deliver.ts'
import { diskRoutes } from './http/disk-routes.ts'
import { imageRoutes } from './http/image-routes.ts'
import { inventoryRoutes } from './http/inventory-routes.ts'
import { machineRoutes, snapshotRoutes } from './http/machine-routes.ts'
import { SiteServer } from './http/site-server.ts'
import { hibernateRoutes, taskRoutes } from './http/task-routes.ts'
import { makeCertificate } from './model/certificate.ts'
import type { Lab } from './model/context.ts'
import { absent, wireErrorOf } from './model/refusal.ts'
import { pruneCalls, Recorder } from './store/calls.ts'
import { migrateLab } from './store/migrate.ts'
import { ensurePasswords } from './store/sites.ts'
import { ping, readWorld, storeCertificate } from './store/worlds.ts'
import type { ActOn } from './tasks/acts.ts'
import { hibernateKinds } from './tasks/hibernate-tasks.ts'
import { machineKinds } from './tasks/machine-tasks.ts'
import { moveKinds } from './tasks/move-tasks.ts'
import { powerKinds } from './tasks/power-tasks.ts'
import { snapshotKinds } from './tasks/snapshot-tasks.ts'
import { Stalls } from './tasks/stalls.ts'
import { Tasks } from './tasks/tasks.ts'
import { makeWorld, type WorldName } from './worlds/make-world.ts'

export interface LabOptions {
  readonly databaseUrl: string
  /** Made when the database has none, or another; left out: what is there stays, and `small` is made of nothing. */
  readonly world?: WorldName
  /** Makes the world anew whatever is there. */
  readonly fresh?: boolean
  readonly seed?: number
  /** What durations are multiplied by; 0: everything is done at once. */
  readonly pace?: number
  readonly machines?: number
  /** Of the user `drover` at every site; one that differs from the stored one replaces it. */
  readonly password?: string
  /** Left out: one is made up. Empty: nobody gets into the admin API. */
  readonly adminToken?: string
  /** 0 picks a free one. */
  readonly port?: number
  readonly host?: string
  readonly tls?: boolean
  readonly clock?: Clock
  readonly log?: Logger
}

export interface RunningLab {
  /** `http://127.0.0.1:PORT`; a site is below `/sites/`. */
  readonly url: string
  readonly port: number
  readonly adminToken: string
  readonly password: string
  /** Only what was asked for before is finished; tasks go on when the lab is started again. */
  stop(): Promise<void>
}

/** Known to everybody, for a lab on loopback that nobody gave another. */
export const defaultPassword = 'drover-lab'

const kinds = { ...powerKinds, ...machineKinds, ...snapshotKinds, ...hibernateKinds, ...moveKinds }
const routes = [
  ...inventoryRoutes,
  ...machineRoutes,
  ...snapshotRoutes,
  ...hibernateRoutes,
  ...taskRoutes,
  ...diskRoutes,
  ...imageRoutes,
]

/** Starts a lab in this process. Its state is in the database alone: a lab started there anew goes on with it. */
export const startLab = async (options: LabOptions): Promise<RunningLab> => {
  const log = options.log ?? createLog({ role: 'lab', level: 'error' })
  const db = openDb({ url: options.databaseUrl, max: 8, applicationName: 'drover-lab', statementMs: 30_000 })
  try {
    const lab: Lab = { db, clock: options.clock ?? systemClock, log }
    const password = options.password ?? defaultPassword
    await migrateLab(db)
    await prepareWorld(lab, options, password)
    await pruneCalls(db)
    return await listen(lab, { ...options, password, log })
  } catch (error) {
    await db.end({ timeout: 5 })
    throw error
  }
}

const prepareWorld = async (lab: Lab, options: LabOptions, password: string): Promise<void> => {
  const world = await readWorld(lab.db)
  const wanted = options.world ?? (world ? undefined : 'small')
  if (wanted === undefined || (world?.name === wanted && !options.fresh)) {
    if (options.password !== undefined) await ensurePasswords(lab.db, options.password)
    return
  }
  if (world) lab.log.info({ from: world.name, to: wanted }, 'the lab gets another world')
  await makeWorld(lab, {
    world: wanted,
    seed: options.seed ?? 1,
    pace: options.pace ?? 1,
    machines: options.machines ?? 10_000,
    password,
  })
}

const listen = async (
  lab: Lab,
  options: LabOptions & { password: string; log: Logger },
): Promise<RunningLab> => {
  const recorder = new Recorder(lab.db)
  const tasks = new Tasks(lab, kinds)
  const stalls = new Stalls(lab.db)
  const adminToken = options.adminToken ?? randomBytes(24).toString('base64url')
  let changeCertificate = async (): Promise<void> => {}
  const on: ActOn = { lab, changeCertificate: () => changeCertificate() }
  const sites = new SiteServer({ on, tasks, recorder, stalls, routes })
  const listener = listenerOf({
    lab,
    serveSite: (work) => sites.serve(work.request, work.response, work.url),
    serveAdmin: (work) =>
      serveAdmin(
        {
          on,
          tasks,
          recorder,
          stalls,
          token: adminToken === '' ? undefined : adminToken,
          password: options.password,
        },
        work,
      ),
  })
  const server = await openServer(lab.db, { tls: options.tls ?? false, now: lab.clock.now(), listener })
  if (server.tls)
    changeCertificate = async () => {
      const next = makeCertificate(lab.clock.now())
      await storeCertificate(lab.db, next)
      server.tls?.setSecureContext(next)
      server.http.closeIdleConnections()
    }
  const host = options.host ?? '127.0.0.1'
  await bind(server.http, { host, port: options.port ?? 0 })
  const { port } = server.http.address() as AddressInfo
  return {
    url: `${server.tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`,
    port,
    adminToken,
    password: options.password,
    stop: async () => {
      await new Promise<void>((resolve) => {
        server.http.close(() => resolve())
        server.http.closeAllConnections()
      })
      await recorder.flush().catch(() => {})
      await lab.db.end({ timeout: 5 })
    },
  }
}

interface Work {
  readonly request: Parameters<RequestListener>[0]
  readonly response: Parameters<RequestListener>[1]
  readonly url: URL
}

const listenerOf =
  (options: {
    lab: Lab
    serveSite: (work: Work) => Promise<void>
    serveAdmin: (work: Work) => Promise<void>
  }): RequestListener =>
  (request, response) => {
    const fail = (error: unknown): void => {
      options.lab.log.error({ err: error }, 'a call of the lab failed')
      deliver(response, { kind: 'error', error: wireErrorOf(error) })
    }
    // A caller that goes away in the middle of its body is its own affair.
    request.on('error', () => {})
    let url: URL
    try {
      url = new URL(request.url ?? '/', 'http://lab')
    } catch {
      deliver(response, { kind: 'error', error: wireErrorOf(absent('such path')) })
      return
    }
    const work = { request, response, url }
    if (url.pathname.startsWith('/sites/')) options.serveSite(work).catch(fail)
    else if (url.pathname.startsWith('/lab/')) options.serveAdmin(work).catch(fail)
    else health(options.lab, work).catch(fail)
  }

const health = async (lab: Lab, { response, url }: Work): Promise<void> => {
  const ready = async () => {
    await ping(lab.db)
    return { ready: true, reasons: [] }
  }
  const answer = await healthAnswer(url.pathname, { role: 'lab', ready })
  if (!answer) throw absent('such path; sites are below /sites/, the admin API is below /lab/')
  response.writeHead(answer.status, { 'content-type': answer.type }).end(answer.body)
}

const openServer = async (
  db: Db,
  options: { tls: boolean; now: number; listener: RequestListener },
): Promise<{ http: Server | TlsServer; tls: TlsServer | undefined }> => {
  const bounds = { headersTimeout: 20_000, requestTimeout: 300_000, keepAliveTimeout: 30_000 }
  if (!options.tls) return { http: createServer(bounds, options.listener), tls: undefined }
  let certificate = (await readWorld(db))?.tls
  if (!certificate) {
    certificate = makeCertificate(options.now)
    await storeCertificate(db, certificate)
  }
  const tls = createTlsServer({ ...bounds, ...certificate }, options.listener)
  return { http: tls, tls }
}

const bind = (server: Server | TlsServer, at: { host: string; port: number }): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        new DroverError(
          {
            code: 'address-unusable',
            class: 'config',
            message: `The lab cannot listen at ${at.host}:${at.port}: ${error.message}.`,
            remedy: 'Set DROVER_LAB_PORT to a free port; 0 picks one.',
            field: 'DROVER_LAB_PORT',
          },
          { cause: error },
        ),
      ),
    )
    server.listen(at.port, at.host, () => resolve())
  })
