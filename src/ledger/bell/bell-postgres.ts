import {
  type Queue as AnyQueue,
  assertSchemaCompatibility,
  createPostgresBackend,
  type PostgresConnectionOptions,
  runMigrations,
  SchemaMigrationRequiredError,
  withBackend,
} from 'bullmq'
import pg from 'pg'
import { bellGroups, makesBellStore } from '../../../db/queries/bell/bell-store.ts'
import { bellGrants } from '../../../db/queries/server/grant-privileges.ts'
import { securedUrl } from '../../../db/secured-url.ts'
import { withFirstHost } from '../../config/several-hosts.ts'
import {
  certificateRefused,
  DroverError,
  isPrivilegeMissing,
  privilegeMissing,
  refusedCertificate,
} from '../../errors.ts'
import type { Logger } from '../../process/log.ts'
import {
  type Bell,
  type BellListener,
  bellAway,
  bellKinds,
  type HeardBell,
  type Ring,
  withinMs,
} from './bell.ts'
import { listenerOf, listenerOptions, pendingIn, processBell, ringQueue } from './bell-queue.ts'

/**
 * After a connection error BullMQ lets a listener wait for up to an hour and relies on a NOTIFY to wake it. A listener
 * whose connection was lost at that moment hears none: here it also polls, as often as an idle listener.
 */
const createWatchfulBackend: typeof createPostgresBackend = (...given) => {
  const backend = createPostgresBackend(...given)
  Object.defineProperty(backend, 'maximumBlockTimeout', { value: listenerOptions.drainDelay })
  return backend
}

const { Queue, Worker } = withBackend(createWatchfulBackend)
type PostgresQueue = InstanceType<typeof Queue>

const schema = 'bullmq'
/** The ASCII codes of `BELL`. */
const identityLock = 0x42454c4c
const callMs = 5_000
const closeMs = 1_000
/**
 * Connections for short statements, besides the two of each listener, and for rebuilt listeners: connections that died
 * silently, as behind a firewall, are held until they time out. With 10, rebuilt listeners got none, and the worker
 * stayed deaf.
 */
const workingConnections = 16

export interface PostgresBellOptions {
  readonly url: string
  readonly log: Logger
}

/** BullMQ on Postgres, in a schema of its own: the default, for one machine and for trying. */
export class PostgresBell implements Bell {
  readonly store = 'postgres'
  readonly #options: PostgresBellOptions
  readonly #queues = new Map<string, PostgresQueue>()
  readonly #clients = new Set<pg.PoolClient>()
  #pool: pg.Pool | undefined

  constructor(options: PostgresBellOptions) {
    this.#options = options
  }

  async prepare(): Promise<void> {
    const client = await this.#bounded(this.#connections().connect())
    try {
      if (await makesBellStore(client)) await makeStore(client)
      else await expectStore(client)
    } catch (error) {
      // The lock goes with its connection.
      client.release(true)
      throw error
    }
    client.release()
  }

  async identity(): Promise<string> {
    const read = async () => {
      const { rows } = await this.#connections().query<{ id: string }>(
        `select id from ${schema}.drover_identity`,
      )
      return rows[0]?.id
    }
    try {
      const identity = await this.#bounded(read())
      if (identity !== undefined) return identity
    } catch (error) {
      if (!isSchemaGone(error)) throw error
    }
    // The schema was dropped, or never existed: create it again, as another store.
    await this.#forgetQueues()
    await this.prepare()
    const identity = await this.#bounded(read())
    if (identity === undefined) throw bellAway(this.store, new Error('the identity vanished'))
    return identity
  }

  async ring(rings: readonly Ring[]): Promise<void> {
    for (const kind of new Set(rings.map((ring) => ring.kind))) {
      const ofKind = rings.filter((ring) => ring.kind === kind)
      await this.#bounded(ringQueue(this.#queue(kind), ofKind)).catch(async (error: unknown) => {
        // BullMQ remembers a failed first look at its schema for good: a fresh queue looks again.
        await this.#forgetQueues()
        throw error
      })
    }
  }

  pending(kind: string): Promise<ReadonlySet<string>> {
    return this.#bounded(pendingIn(this.#queue(kind)))
  }

  async listen(
    kind: string,
    concurrency: number,
    onBell: (bell: HeardBell) => Promise<void>,
  ): Promise<BellListener> {
    const worker = new Worker(kind, processBell(onBell), {
      ...listenerOptions,
      connection: this.#shared(),
      concurrency,
    })
    worker.on('error', (error) => {
      this.#options.log.debug({ err: error, kind }, 'bell listener')
      // BullMQ remembers a failed first look at its schema for good, and retries without a pause: the whole process
      // would do nothing else. The watch for deaf listeners builds another one.
      if (error instanceof SchemaMigrationRequiredError) worker.close(true).catch(() => {})
    })
    return listenerOf(worker)
  }

  queues(): AnyQueue[] {
    // The classes are the same; BullMQ's types differ in the connection, which a reader never touches.
    return bellKinds.map((kind) => this.#queue(kind) as unknown as AnyQueue)
  }

  async check(): Promise<void> {
    await this.#bounded(this.#connections().query('select 1'))
  }

  async close(): Promise<void> {
    // Every close is bounded: a connection that a firewall forgot never answers.
    await withinMs(closeMs, this.store, this.#forgetQueues()).catch(() => {})
    const pool = this.#pool
    this.#pool = undefined
    if (!pool) return
    // A listener that was abandoned while connecting never returns its connection, and the pool waits for it.
    await withinMs(closeMs, this.store, pool.end()).catch(() => {})
    const farewells = [...this.#clients].map((client) => client.end().catch(() => {}))
    await withinMs(closeMs, this.store, Promise.all(farewells)).catch(() => {})
    this.#clients.clear()
  }

  #queue(kind: string): PostgresQueue {
    let queue = this.#queues.get(kind)
    if (!queue) {
      queue = new Queue(kind, {
        connection: this.#shared(),
        skipWaitingForReady: true,
        skipMetasUpdate: true,
      })
      queue.on('error', (error) => this.#options.log.debug({ err: error, kind }, 'bell queue'))
      this.#queues.set(kind, queue)
    }
    return queue
  }

  async #forgetQueues(): Promise<void> {
    const queues = [...this.#queues.values()]
    this.#queues.clear()
    await Promise.all(queues.map((queue) => queue.close().catch(() => {})))
  }

  /** The pool as BullMQ's types want it; they are not written for exactOptionalPropertyTypes. */
  #shared(): PostgresConnectionOptions {
    return this.#connections() as unknown as PostgresConnectionOptions
  }

  #connections(): pg.Pool {
    if (!this.#pool) {
      const secured = securedUrl(this.#options.url)
      this.#pool = new pg.Pool({
        // As for our own connections, the first of several hosts: `pg` knows one.
        connectionString: withFirstHost(secured.url),
        ...secured.options,
        max: bellKinds.length * 2 + workingConnections,
        connectionTimeoutMillis: callMs,
        // Limits on both sides: a silent server must not hold a worker's loop for ever.
        query_timeout: 20_000,
        statement_timeout: 15_000,
        keepAlive: true,
        options: `-c search_path=${schema}`,
        application_name: 'drover-bell',
      })
      this.#pool.on('connect', (client) => this.#clients.add(client))
      this.#pool.on('remove', (client) => this.#clients.delete(client))
      // Every queue and listener adds one.
      this.#pool.setMaxListeners(0)
      this.#pool.on('error', (error) => this.#options.log.debug({ err: error }, 'bell connection'))
    }
    return this.#pool
  }

  async #bounded<T>(work: Promise<T>): Promise<T> {
    try {
      return await withinMs(callMs, this.store, work)
    } catch (error) {
      if (isPrivilegeMissing(error)) throw privilegeMissing(error)
      const refused = refusedCertificate(error)
      if (refused) throw certificateRefused('Postgres', refused)
      throw isSchemaGone(error) ? error : bellAway(this.store, error)
    }
  }
}

/** As the owner: the store, its identity, and who may do what with it. */
const makeStore = async (client: pg.PoolClient): Promise<void> => {
  await runMigrations(client, schema)
  // `if not exists` is no lock: of two concurrent creations one fails.
  await client.query('select pg_advisory_lock($1)', [identityLock])
  await client.query(`create table if not exists ${schema}.drover_identity
    (only_one boolean primary key default true check (only_one), id uuid not null default gen_random_uuid())`)
  await client.query(`insert into ${schema}.drover_identity default values on conflict do nothing`)
  await client.query(bellGrants(await bellGroups(client)))
  await client.query('select pg_advisory_unlock($1)', [identityLock])
}

/** A running role creates no schema: it finds the one that `migrate` made, or says what to do. */
const expectStore = async (client: pg.PoolClient): Promise<void> => {
  try {
    await assertSchemaCompatibility(client, schema)
    const { rows } = await client.query(`select from ${schema}.drover_identity`)
    if (rows.length > 0) return
  } catch (error) {
    if (isPrivilegeMissing(error)) throw privilegeMissing(error)
    if (!(error instanceof SchemaMigrationRequiredError) && !isSchemaGone(error)) throw error
  }
  throw new DroverError({
    code: 'bell-store-missing',
    class: 'config',
    message: `The bell's store (schema "${schema}" in Postgres) is not there, and this login may not make it.`,
    remedy:
      'Run `drover migrate` as the owner of the database: it makes the store. Nothing is lost meanwhile.',
    field: 'DATABASE_URL',
  })
}

/** SQLSTATEs of a missing schema or table. */
const isSchemaGone = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === '3F000' || error.code === '42P01')
