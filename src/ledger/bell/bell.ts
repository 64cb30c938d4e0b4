import type { Queue } from 'bullmq'
import type { Clock } from '../../clock.ts'
import type { Config } from '../../config/config.ts'
import { jobKinds } from '../../domain/job/kinds/registry.ts'
import { DroverError } from '../../errors.ts'
import type { Logger } from '../../process/log.ts'

/** One ring: "there may be a job". Nothing in it has to be true or kept; the claim asks Postgres. */
export interface Ring {
  readonly id: string
  readonly kind: string
  readonly generation: number
  readonly publish: number
  /** Goes to the head of the queue. */
  readonly urgent: boolean
}

/** What a worker receives. */
export interface HeardBell {
  readonly id: string
  readonly generation: number
}

export interface BellListener {
  /** How many bells it follows at once. */
  setSlots(slots: number): void
  /** Asks for no more bells; the current ones go on. A bell that is on its way may still arrive. */
  quiet(): Promise<void>
  /** Waits for the current bells, then closes the connection. */
  close(): Promise<void>
  /** Closes the connection at once; its bells are delivered again later, and Postgres refuses them. */
  abandon(): Promise<void>
}

/**
 * The bell store: BullMQ on Redis or on Postgres. It only wakes workers. Losing all it holds costs a moment,
 * because the conductor rings again from Postgres.
 */
export interface Bell {
  readonly store: 'redis' | 'postgres'
  /** Makes the store ready for use, and refuses one that would lose bells silently. */
  prepare(): Promise<void>
  /** The identity of the store. A store that was flushed, replaced or restored gets a new one. */
  identity(): Promise<string>
  ring(rings: readonly Ring[]): Promise<void>
  /** Ids (`bellId`) of the rings of a kind that no worker has taken yet. */
  pending(kind: string): Promise<ReadonlySet<string>>
  listen(kind: string, concurrency: number, onBell: (bell: HeardBell) => Promise<void>): Promise<BellListener>
  /** For Bull Board. */
  queues(): Queue[]
  /** Throws when the store cannot be reached. */
  check(): Promise<void>
  close(): Promise<void>
}

/** The store's id of a ring. `publish` makes every ring's id new: BullMQ silently drops an id it has seen. */
export const bellId = (ring: Pick<Ring, 'id' | 'generation' | 'publish'>): string =>
  `${ring.id}-g${ring.generation}-p${ring.publish}`

export const bellKinds: readonly string[] = jobKinds.map((kind) => kind.kind)

export interface BellOptions {
  readonly databaseUrl: string
  readonly log: Logger
}

/** Redis when `REDIS_URL` is set, else Postgres. Opens no connection before it is used. */
export const openBell = async (
  config: Pick<Config, 'redisUrl'> & Partial<Pick<Config, 'redisCa'>>,
  options: BellOptions,
): Promise<Bell> => {
  if (config.redisUrl !== undefined) {
    const { RedisBell } = await import('./bell-redis.ts')
    return new RedisBell({ url: config.redisUrl, ca: config.redisCa, log: options.log })
  }
  const { PostgresBell } = await import('./bell-postgres.ts')
  return new PostgresBell({ url: options.databaseUrl, log: options.log })
}

export const bellAway = (store: string, cause: unknown): DroverError =>
  new DroverError(
    {
      code: 'bell-away',
      class: 'environment',
      message: `The bell store (${store}) cannot be reached. Jobs are accepted and start when it is back.`,
      remedy: `Check that ${store} runs and that its address is right.`,
    },
    { cause },
  )

/** A time limit for calls into a store that may be gone: BullMQ itself waits without limit. */
export const withinMs = async <T>(ms: number, store: string, work: Promise<T>): Promise<T> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(bellAway(store, new Error(`no answer within ${ms} ms`))), ms)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
    work.catch(() => {})
  }
}

/**
 * Makes the store ready and waits for an unreachable one as often as `tries` says. A store with settings that lose
 * bells is refused at once: waiting does not help.
 */
export const prepareBell = async (
  bell: Bell,
  options: { log: Logger; clock: Clock; tries: number; signal?: AbortSignal },
): Promise<void> => {
  for (let tries = 1; !options.signal?.aborted; tries += 1) {
    try {
      await bell.prepare()
      return
    } catch (error) {
      if (error instanceof DroverError && error.class === 'config') throw error
      options.log.warn({ err: error }, 'the bell store is away; jobs start when it is back')
      if (tries >= options.tries) return
      await options.clock.sleep(1_000, options.signal)
    }
  }
}
