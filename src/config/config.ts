import { readFileSync } from 'node:fs'
import { BlockList } from 'node:net'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { DroverError } from '../errors.ts'
import { environment, leaseMsDefault } from './config-environment.ts'
import { configError, withFiles } from './config-files.ts'
import { type LoginRole, loginRoles } from './database-urls.ts'
import { type Front, parseProxies, parsePublicUrl } from './front.ts'
import { readAuthorities, withAuthorities } from './store-trust.ts'

/** The version of this code, as package.json says. */
export const version: string = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))).version

/** Every limit and pace that is not a person's to change while we run, with its unit in its name. */
export const limits = Object.freeze({
  leaseMs: leaseMsDefault,
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

export interface Config {
  readonly databaseUrl: string | undefined
  /** The logins of the roles, where they have their own. For who starts or makes them: a role knows `databaseUrl`. */
  readonly roleUrls: Readonly<Partial<Record<LoginRole, string>>>
  /** An administrator of the cluster, who makes those logins. */
  readonly setupDatabaseUrl: string | undefined
  readonly redisUrl: string | undefined
  /** Who may have signed the certificate of Redis, as PEM. */
  readonly redisCa: string | undefined
  readonly adminToken: string | undefined
  readonly dataDir: string
  readonly host: string
  readonly port: number
  readonly socketPath: string | undefined
  readonly front: Front
  readonly workers: number
  readonly healthHost: string
  readonly healthPort: number
  /** 32 bytes that seal secrets and sign event seals. Never in the database. */
  readonly secretKey: string | undefined
  /** Keys that were in use before: they open, and seal nothing. */
  readonly oldSecretKeys: readonly string[]
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
  /** No event is pruned before this age, whatever the database says. */
  readonly eventsKeptDaysMin: number
  readonly images: {
    /** Below it lie the archives that images are imported from as files; undefined: none are. */
    readonly dir: string | undefined
    /** Whether they are read from private addresses and this machine's own. */
    readonly allowPrivate: boolean
  }
  /** Where the conductor notes signed heads of the event chain. */
  readonly sealHeadsFile: string | undefined
  readonly logLevel: string
  readonly otlpEndpoint: string | undefined
  /** What a collector of traces wants to see of who sends. */
  readonly otlpHeaders: Readonly<Record<string, string>>
}

/** Reads the environment once. A wrong value is refused with its name and what it should be. */
export const readConfig = (env: NodeJS.ProcessEnv): Config => {
  const parsed = environment.safeParse(withFiles(env))
  if (!parsed.success) throw wrongSetting(String(parsed.error.issues[0]?.path[0]), env)
  const values = parsed.data
  return Object.freeze({
    ...databaseUrls(values),
    redisUrl: values.REDIS_URL,
    redisCa: redisCa(values),
    adminToken: values.DROVER_ADMIN_TOKEN,
    dataDir: values.DROVER_DATA_DIR ?? join(homedir(), '.drover'),
    host: values.DROVER_HOST,
    port: values.DROVER_PORT,
    socketPath: values.DROVER_SOCKET,
    front: {
      publicUrl: parsePublicUrl(values.DROVER_PUBLIC_URL ?? ''),
      trustedProxies: parseProxies(values.DROVER_TRUSTED_PROXIES ?? '') ?? new BlockList(),
    },
    workers: values.DROVER_WORKERS,
    healthHost: values.DROVER_HEALTH_HOST,
    healthPort: values.DROVER_HEALTH_PORT,
    secretKey: values.DROVER_SECRET_KEY,
    oldSecretKeys: values.DROVER_SECRET_KEYS_OLD?.split(',').map((key) => key.trim()) ?? [],
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
    eventsKeptDaysMin: values.DROVER_EVENTS_KEPT_DAYS_MIN,
    images: { dir: values.DROVER_IMAGE_DIR, allowPrivate: values.DROVER_IMAGE_PRIVATE === '1' },
    sealHeadsFile: values.DROVER_SEAL_HEADS_FILE,
    logLevel: values.DROVER_LOG_LEVEL,
    otlpEndpoint: values.OTEL_EXPORTER_OTLP_ENDPOINT,
    otlpHeaders: {
      ...parseHeaders(values.OTEL_EXPORTER_OTLP_HEADERS),
      ...parseHeaders(values.OTEL_EXPORTER_OTLP_TRACES_HEADERS),
    },
  })
}

/** In the words of the setting, and not in those of the library: without the value, which may be a secret. */
const wrongSetting = (name: string, env: NodeJS.ProcessEnv): DroverError => {
  const mustBe = environment.shape[name as keyof typeof environment.shape].meta()?.mustBe
  const fromFile = (env[name] ?? '') === ''
  return configError(
    name,
    `${name} must be ${mustBe}.`,
    fromFile ? `Mend the file that ${name}_FILE names: it holds ${name}.` : undefined,
  )
}

type Values = z.infer<typeof environment>

/** Every URL of the database, each with the authorities that may have signed its certificate. */
const databaseUrls = (values: Values): Pick<Config, 'databaseUrl' | 'roleUrls' | 'setupDatabaseUrl'> => {
  const authorities = values.DATABASE_CA_FILE
  const secured = (
    setting: 'DATABASE_URL' | 'DROVER_SETUP_DATABASE_URL' | `DROVER_${Uppercase<LoginRole>}_DATABASE_URL`,
  ) => {
    const url = values[setting]
    if (url === undefined) return undefined
    // Without a URL it is about no server: the embedded Postgres speaks no TLS.
    if (authorities !== undefined) readAuthorities('DATABASE_CA_FILE', authorities)
    return withAuthorities(url, { setting, authorities })
  }
  const roles = loginRoles.flatMap((role: LoginRole) => {
    const url = secured(`DROVER_${role.toUpperCase() as Uppercase<LoginRole>}_DATABASE_URL`)
    return url === undefined ? [] : [[role, url] as const]
  })
  return {
    databaseUrl: secured('DATABASE_URL'),
    roleUrls: Object.fromEntries(roles),
    setupDatabaseUrl: secured('DROVER_SETUP_DATABASE_URL'),
  }
}

const redisCa = ({ REDIS_CA_FILE, REDIS_URL }: Values): string | undefined => {
  if (REDIS_CA_FILE === undefined || REDIS_URL === undefined) return undefined
  if (REDIS_URL.startsWith('redis:'))
    throw configError(
      'REDIS_URL',
      'REDIS_CA_FILE is set, but REDIS_URL does not begin with rediss:// (TLS).',
      'Let REDIS_URL begin with rediss:// when that Redis speaks TLS; otherwise unset REDIS_CA_FILE.',
    )
  return readAuthorities('REDIS_CA_FILE', REDIS_CA_FILE)
}

const parseConcurrency = (text: string | undefined): ReadonlyMap<string, number> =>
  new Map(
    (text?.split(',') ?? []).map((pair) => {
      const [kind = '', count = ''] = pair.split('=')
      return [kind, Number(count)]
    }),
  )

/** As OpenTelemetry writes them: pairs with a comma between, percent-encoded. */
const parseHeaders = (text: string | undefined): Record<string, string> =>
  Object.fromEntries(
    (text?.split(',') ?? []).map((pair) => {
      const at = pair.indexOf('=')
      return [pair.slice(0, at).trim(), decoded(pair.slice(at + 1).trim())]
    }),
  )

/** A percent sign that encodes nothing stands for itself. */
const decoded = (value: string): string => {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}

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
