import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { DroverError } from './errors.ts'

/** The version of this code, as package.json says. */
export const version: string = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))).version

/** Every limit and pace that is not a person's to change while we run, with its unit in its name. */
export const limits = Object.freeze({
  /** A worker that is silent for this long has lost its jobs. */
  leaseMs: 15_000,
  heartbeatMs: 4_000,
  /** A cancel reaches a running handler by NOTIFY; this is how long it takes when the hint is lost. */
  cancelPollMs: 700,
  /** The truth behind the NOTIFY that wakes the relay. */
  relayPollMs: 250,
  conductorTickMs: 1_000,
  /** A platform that makes no progress with a call for this long is given up on: the job tries again later. */
  platformStallMs: 25_000,
  bellIdentityMs: 500,
  relayBatch: 1_000,
  groupCommitMax: 500,
  payloadBytes: 64 * 1024,
  bodyBytes: 1024 * 1024,
  pageMax: 200,
  waitMaxMs: 30 * 24 * 3_600_000,
})

const milliseconds = z.coerce.number().int().positive()

const environment = z.object({
  DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'must be a postgres:// URL')
    .optional(),
  REDIS_URL: z
    .string()
    .regex(/^rediss?:\/\//, 'must be a redis:// or rediss:// URL')
    .optional(),
  DROVER_ADMIN_TOKEN: z.string().min(16, 'must be at least 16 characters').max(256).optional(),
  DROVER_DATA_DIR: z.string().min(1).optional(),
  DROVER_HOST: z.string().min(1).default('127.0.0.1'),
  DROVER_PORT: z.coerce.number().int().min(0).max(65_535).default(7070),
  DROVER_WORKERS: z.coerce.number().int().min(0).max(256).default(2),
  /** Where worker and conductor answer /healthz, /readyz and /metrics; 0 picks a free port. */
  DROVER_HEALTH_HOST: z.string().min(1).default('127.0.0.1'),
  DROVER_HEALTH_PORT: z.coerce.number().int().min(0).max(65_535).default(0),
  /** Whether `up` starts a lab. */
  DROVER_LAB: z.enum(['0', '1']).default('1'),
  DROVER_LAB_PORT: z.coerce.number().int().min(0).max(65_535).default(7071),
  /** Left out: the world that is there stays. A lab whose world was changed while it ran must not lose it. */
  DROVER_LAB_WORLD: z.enum(['small', 'large', 'broken']).optional(),
  DROVER_LAB_PASSWORD: z.string().min(8, 'must be at least 8 characters').max(256).optional(),
  DROVER_LAB_ADMIN_TOKEN: z.string().min(16, 'must be at least 16 characters').max(256).optional(),
  DROVER_LAB_TLS: z.enum(['0', '1']).default('0'),
  DROVER_SECRET_KEY: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'must be 64 hexadecimal digits (32 bytes)')
    .optional(),
  DROVER_CONCURRENCY: z
    .string()
    .regex(/^([a-z-]+=\d+)(,[a-z-]+=\d+)*$/, 'must look like self-test=16,import-ova=2')
    .optional(),
  DROVER_LEASE_MS: milliseconds.default(limits.leaseMs),
  DROVER_DRAIN_MS: milliseconds.default(20_000),
  /** The server ends a statement of a worker or conductor after this; its silence counts 5 s later. */
  DROVER_STATEMENT_MS: milliseconds.default(15_000),
  DROVER_LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('info'),
  OTEL_EXPORTER_OTLP_ENDPOINT: z.url().optional(),
})

export interface Config {
  readonly databaseUrl: string | undefined
  readonly redisUrl: string | undefined
  readonly adminToken: string | undefined
  readonly dataDir: string
  readonly host: string
  readonly port: number
  readonly workers: number
  readonly healthHost: string
  readonly healthPort: number
  /** 32 bytes that seal secrets and sign event seals. Never in the database. */
  readonly secretKey: string | undefined
  /** The simulated data centre (`drover lab`). */
  readonly lab: {
    /** `up` starts one, and registers it. */
    readonly wanted: boolean
    readonly port: number
    readonly world: 'small' | 'large' | 'broken' | undefined
    readonly password: string | undefined
    readonly adminToken: string | undefined
    readonly tls: boolean
  }
  readonly concurrency: ReadonlyMap<string, number>
  readonly leaseMs: number
  readonly drainMs: number
  readonly statementMs: number
  readonly logLevel: string
  readonly otlpEndpoint: string | undefined
}

/** Settings that may come from a file, named by `<NAME>_FILE`: how a container gets its secrets. */
const fileSettings = ['DATABASE_URL', 'REDIS_URL', 'DROVER_ADMIN_TOKEN', 'DROVER_SECRET_KEY'] as const

/** Reads the environment once. A wrong value is refused with its name and what it should be. */
export const readConfig = (env: NodeJS.ProcessEnv): Config => {
  const parsed = environment.safeParse(withFiles(env))
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    const name = String(issue?.path[0] ?? 'environment')
    throw configError(name, `${name} ${issue?.message ?? 'is not valid'}.`)
  }
  const values = parsed.data
  return Object.freeze({
    databaseUrl: values.DATABASE_URL,
    redisUrl: values.REDIS_URL,
    adminToken: values.DROVER_ADMIN_TOKEN,
    dataDir: values.DROVER_DATA_DIR ?? join(homedir(), '.drover'),
    host: values.DROVER_HOST,
    port: values.DROVER_PORT,
    workers: values.DROVER_WORKERS,
    healthHost: values.DROVER_HEALTH_HOST,
    healthPort: values.DROVER_HEALTH_PORT,
    secretKey: values.DROVER_SECRET_KEY,
    lab: {
      wanted: values.DROVER_LAB === '1',
      port: values.DROVER_LAB_PORT,
      world: values.DROVER_LAB_WORLD,
      password: values.DROVER_LAB_PASSWORD,
      adminToken: values.DROVER_LAB_ADMIN_TOKEN,
      tls: values.DROVER_LAB_TLS === '1',
    },
    concurrency: parseConcurrency(values.DROVER_CONCURRENCY),
    leaseMs: values.DROVER_LEASE_MS,
    drainMs: values.DROVER_DRAIN_MS,
    statementMs: values.DROVER_STATEMENT_MS,
    logLevel: values.DROVER_LOG_LEVEL,
    otlpEndpoint: values.OTEL_EXPORTER_OTLP_ENDPOINT,
  })
}

const withFiles = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv => {
  const values = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''))
  for (const name of fileSettings) {
    const path = values[`${name}_FILE`]
    if (path === undefined) continue
    if (values[name] !== undefined) throw configError(name, `${name} and ${name}_FILE are both set.`)
    try {
      values[name] = readFileSync(path, 'utf8').trim()
    } catch (cause) {
      throw configError(`${name}_FILE`, `${name}_FILE cannot be read: ${(cause as Error).message}.`)
    }
  }
  return values
}

const parseConcurrency = (text: string | undefined): ReadonlyMap<string, number> =>
  new Map(
    (text?.split(',') ?? []).map((pair) => {
      const [kind = '', count = ''] = pair.split('=')
      return [kind, Number(count)]
    }),
  )

const configError = (field: string, message: string): DroverError =>
  new DroverError({
    code: 'config-invalid',
    class: 'config',
    message,
    remedy: `Set ${field} in the environment to a valid value, or unset it for the default.`,
    field,
  })

/** The key of the roles that seal or sign. There is no default: a key made up at each start could open nothing. */
export const requireSecretKey = (config: Pick<Config, 'secretKey'>): string => {
  if (config.secretKey !== undefined) return config.secretKey
  throw new DroverError({
    code: 'secret-key-missing',
    class: 'config',
    message: 'DROVER_SECRET_KEY is not set, and this role seals secrets and signs events with it.',
    remedy: 'Make one with `openssl rand -hex 32`, keep it safe, and give the same to every role.',
    field: 'DROVER_SECRET_KEY',
  })
}
