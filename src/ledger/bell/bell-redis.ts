import { randomUUID } from 'node:crypto'
import { Queue, Worker } from 'bullmq'
import { Redis, type RedisOptions } from 'ioredis'
import { certificateRefused, DroverError, refusedCertificate } from '../../errors.ts'
import { type Logger, withoutUserinfo } from '../../process/log.ts'
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

/** One hash tag for all keys: BullMQ's scripts need the keys of a queue on one node of a cluster. */
const prefix = '{drover}'
const identityKey = `${prefix}:identity`
const callMs = 3_000
/**
 * Silence after which a connection counts as half open; TCP itself would wait a quarter of an hour. A listener may
 * have to wait the ten seconds that BullMQ lets Redis block.
 */
const silentMs = { producer: 2 * callMs, listener: 15_000 }

export interface RedisBellOptions {
  readonly url: string
  /** The CA of its certificate (PEM), unless Node knows it. */
  readonly ca?: string | undefined
  readonly log: Logger
}

/** BullMQ on Redis: the production choice. */
export class RedisBell implements Bell {
  readonly store = 'redis'
  readonly #options: RedisBellOptions
  readonly #queues = new Map<string, Queue>()
  readonly #listeners: Redis[] = []
  #producer: Redis | undefined
  /** What is wrong with the certificate that it showed last. */
  #refused: Error | undefined

  constructor(options: RedisBellOptions) {
    this.#options = options
  }

  async prepare(): Promise<void> {
    const setting = async (name: string) => {
      const [, value] = await this.#bounded((redis) => readSetting(redis, name))
      return value
    }
    const policy = await setting('maxmemory-policy')
    if (policy === undefined)
      this.#options.log.warn(
        'Redis does not show its settings: make sure that maxmemory-policy is noeviction',
      )
    if (policy !== undefined && policy !== 'noeviction')
      throw new DroverError({
        code: 'redis-evicts',
        class: 'config',
        message: `Redis evicts keys (maxmemory-policy is ${policy}), so bells could vanish one by one unseen.`,
        remedy: 'Set maxmemory-policy noeviction in Redis, or give Drover a Redis of its own.',
        field: 'REDIS_URL',
      })
    if ((await setting('appendonly')) !== 'yes' && !(await setting('save')))
      this.#options.log.warn(
        'Redis keeps nothing on disk: after its restart every bell is rung again from Postgres',
      )
  }

  async identity(): Promise<string> {
    await this.#bounded((redis) => redis.set(identityKey, randomUUID(), 'NX'))
    const identity = await this.#bounded((redis) => redis.get(identityKey))
    if (!identity) throw bellAway(this.store, new Error('the identity vanished'))
    return identity
  }

  async ring(rings: readonly Ring[]): Promise<void> {
    const kinds = new Set(rings.map((ring) => ring.kind))
    await Promise.all(
      [...kinds].map((kind) => {
        const ofKind = rings.filter((ring) => ring.kind === kind)
        return this.#queued(kind, (queue) => ringQueue(queue, ofKind))
      }),
    )
  }

  pending(kind: string): Promise<ReadonlySet<string>> {
    return this.#queued(kind, pendingIn)
  }

  async listen(
    kind: string,
    concurrency: number,
    onBell: (bell: HeardBell) => Promise<void>,
  ): Promise<BellListener> {
    // Waits for a lost Redis as long as it takes: a worker has nothing better to do. Acknowledgements of jobs that end
    // together share a packet: a write for each was a third of a worker's time.
    const connection = this.#connect({
      maxRetriesPerRequest: null,
      enableAutoPipelining: true,
      socketTimeout: silentMs.listener,
    })
    this.#listeners.push(connection)
    const worker = new Worker(kind, processBell(onBell), {
      ...listenerOptions,
      connection,
      prefix,
      concurrency,
    })
    worker.on('error', (error) => this.#options.log.debug({ err: error, kind }, 'bell listener'))
    const listener = listenerOf(worker)
    // BullMQ does not close a connection that it was given.
    const forget = () => {
      this.#listeners.splice(this.#listeners.indexOf(connection), 1)
      connection.disconnect()
    }
    return {
      ...listener,
      close: () => listener.close().finally(forget),
      abandon: () => listener.abandon().finally(forget),
    }
  }

  queues(): Queue[] {
    return bellKinds.map((kind) => this.#queue(kind))
  }

  async check(): Promise<void> {
    await this.#bounded((redis) => redis.ping())
  }

  async close(): Promise<void> {
    for (const queue of this.#queues.values()) await queue.close().catch(() => {})
    for (const redis of [...this.#listeners, ...(this.#producer ? [this.#producer] : [])]) redis.disconnect()
  }

  /** BullMQ remembers a failed first look at Redis for good: after a failure a fresh queue looks again. */
  async #queued<T>(kind: string, work: (queue: Queue) => Promise<T>): Promise<T> {
    try {
      return await this.#bounded(() => work(this.#queue(kind)))
    } catch (error) {
      const failed = this.#queues.get(kind)
      this.#queues.delete(kind)
      void failed?.close().catch(() => {})
      throw error
    }
  }

  #queue(kind: string): Queue {
    let queue = this.#queues.get(kind)
    if (!queue) {
      queue = new Queue(kind, {
        connection: this.#redis(),
        prefix,
        skipWaitingForReady: true,
        skipMetasUpdate: true,
      })
      queue.on('error', (error) => this.#options.log.debug({ err: error, kind }, 'bell queue'))
      this.#queues.set(kind, queue)
    }
    return queue
  }

  /** Fails at once while Redis is unreachable: nothing of ours may queue up behind it. */
  #redis(): Redis {
    this.#producer ??= this.#connect({
      enableOfflineQueue: false,
      maxRetriesPerRequest: 1,
      socketTimeout: silentMs.producer,
    })
    return this.#producer
  }

  #connect(
    options: Pick<
      RedisOptions,
      'enableOfflineQueue' | 'maxRetriesPerRequest' | 'enableAutoPipelining' | 'socketTimeout'
    >,
  ): Redis {
    const { ca, log, url } = this.#options
    const redis = new Redis(url, {
      ...options,
      ...(ca === undefined ? {} : { tls: { ca } }),
      connectTimeout: callMs,
      retryStrategy: (times) => Math.min(50 * 2 ** Math.min(times, 5), 500),
    })
    redis.on('ready', () => {
      this.#refused = undefined
    })
    redis.on('error', (error) => {
      const refused = refusedCertificate(error)
      // Logged even where nothing waits for the bell: an API goes on without it.
      if (refused && !this.#refused)
        log.error({ err: certificateRefused('Redis', refused) }, 'redis connection')
      else log.debug({ redis: withoutUserinfo(url), err: error }, 'redis connection')
      this.#refused = refused ?? this.#refused
    })
    return redis
  }

  /** The answer within a time limit. A connection that is being made is waited for; a lost one is not. */
  async #bounded<T>(work: (redis: Redis) => Promise<T>): Promise<T> {
    try {
      const redis = this.#redis()
      return await withinMs(
        callMs,
        this.store,
        connected(redis).then(() => work(redis)),
      )
    } catch (error) {
      if (this.#refused) throw certificateRefused('Redis', this.#refused)
      throw error instanceof DroverError ? error : bellAway(this.store, error)
    }
  }
}

/** A setting; nothing where a managed Redis does not allow the question. */
const readSetting = async (redis: Redis, name: string): Promise<string[]> => {
  try {
    return (await redis.config('GET', name)) as string[]
  } catch (error) {
    if (error instanceof Error && error.name === 'ReplyError') return []
    throw error
  }
}

/** Waits for a first connection in progress. */
const connected = (redis: Redis): Promise<void> =>
  new Promise((resolve, reject) => {
    if (!['wait', 'connecting', 'connect'].includes(redis.status)) {
      resolve()
      return
    }
    const settle = (outcome: () => void) => () => {
      redis.off('ready', ready)
      redis.off('close', closed)
      outcome()
    }
    const ready = settle(resolve)
    const closed = settle(() => reject(new Error('the connection was refused')))
    redis.once('ready', ready)
    redis.once('close', closed)
  })
