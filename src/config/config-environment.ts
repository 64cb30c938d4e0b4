import { z } from 'zod'
import { eventsKeptDaysMin } from '../domain/settings.ts'
import { parseProxies, parsePublicUrl } from './front.ts'
import { withFirstHost } from './several-hosts.ts'

/** A worker that is silent for this long has lost its jobs. */
export const leaseMsDefault = 15_000

/**
 * A setting with what is said when it is wrong: what it must be, in the words of whoever sets it, and an example that
 * would be accepted. A wrong value is never repeated: it may be a secret.
 */
const setting = <Schema extends z.ZodType>(schema: Schema, mustBe: string, example: string): Schema =>
  schema.meta({ mustBe: `${mustBe}, such as ${example}` })

/** Never an example that could be copied. */
const madeUp = 'what `openssl rand -hex 32` prints'

/** Decimal digits alone: `Number` would take a blank for 0, and 1e3 and 0x10 too. */
const whole = (min: number, max: number, fallback: number, unit = '') =>
  setting(
    z
      .string()
      .trim()
      .refine((given) => /^\d{1,15}$/.test(given) && Number(given) >= min && Number(given) <= max)
      .transform(Number)
      .default(fallback),
    `a whole number${unit} from ${min} to ${max}`,
    String(fallback),
  )

const milliseconds = (fallback: number) => whole(1, 86_400_000, fallback, ' of milliseconds')

const oneOf = (words: readonly string[]): string =>
  `one of ${words.slice(0, -1).join(', ')} and ${words.at(-1)}`

/** Whether drivers can take the URL apart: a `#` or `/` in a password that is not encoded ends the host before its time. */
const isStoreUrl = (text: string): boolean => {
  const single = withFirstHost(text)
  if (!URL.canParse(single)) return false
  const { username, password } = new URL(single)
  try {
    return [username, password].every((part) => decodeURIComponent(part) !== undefined)
  } catch {
    return false
  }
}

const databaseUrl = setting(
  z
    .string()
    .regex(/^postgres(ql)?:\/\//)
    .refine(isStoreUrl)
    .optional(),
  'the address of a Postgres database, with special characters of the password percent-encoded',
  'postgres://user:password@host:5432/database',
)

const headerList = setting(
  z
    .string()
    .regex(/^\s*[\w.-]+=[^,=][^,]*(,\s*[\w.-]+=[^,=][^,]*)*$/)
    .optional(),
  'headers as names and percent-encoded values',
  'authorization=Bearer%20x,team=a',
)

const secret = (shortest: number) =>
  setting(z.string().min(shortest).max(256).optional(), `${shortest} to 256 characters`, madeUp)

const text = (mustBe: string, example: string) => setting(z.string().min(1).optional(), mustBe, example)

const authorities = text('the path of a file with certificates of authorities (PEM)', '/etc/drover/ca.pem')

const yesOrNo = (fallback: '0' | '1') =>
  setting(z.enum(['0', '1']).default(fallback), '0 for no or 1 for yes', fallback)

const worlds = ['small', 'large', 'broken'] as const
const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const
const ownHost = setting(
  z.string().min(1).default('127.0.0.1'),
  'an address or a name of this machine',
  '127.0.0.1',
)
const secretKey = /^[0-9a-f]{64}$/
const secretKeys = /^[0-9a-f]{64}(\s*,\s*[0-9a-f]{64})*$/

/** What a process reads from its environment. */
export const environment = z.object({
  DATABASE_URL: databaseUrl,
  /** For `migrate` and `up`: whom each role signs in as, and who may make these logins. */
  DROVER_API_DATABASE_URL: databaseUrl,
  DROVER_CONDUCTOR_DATABASE_URL: databaseUrl,
  DROVER_WORKER_DATABASE_URL: databaseUrl,
  DROVER_LAB_DATABASE_URL: databaseUrl,
  DROVER_SETUP_DATABASE_URL: databaseUrl,
  DATABASE_CA_FILE: authorities,
  REDIS_URL: setting(
    z
      .string()
      .regex(/^rediss?:\/\//)
      .refine(isStoreUrl)
      .optional(),
    'the redis:// or rediss:// address of a Redis, with special characters of the password percent-encoded',
    'redis://:password@host:6379',
  ),
  REDIS_CA_FILE: authorities,
  DROVER_ADMIN_TOKEN: secret(16),
  DROVER_DATA_DIR: text('the path of a folder', '/var/lib/drover'),
  DROVER_HOST: ownHost,
  DROVER_PORT: whole(0, 65_535, 7070),
  /** A Unix socket on which the API answers too. */
  DROVER_SOCKET: text('the path of a socket', '/run/drover/api.sock'),
  DROVER_PUBLIC_URL: setting(
    z
      .string()
      .refine((url) => parsePublicUrl(url) !== undefined)
      .optional(),
    'https://host or https://host:port, without a path',
    'https://drover.example.com',
  ),
  DROVER_TRUSTED_PROXIES: setting(
    z
      .string()
      .refine((list) => parseProxies(list) !== undefined)
      .optional(),
    'addresses or networks with commas between',
    '127.0.0.1,10.0.0.0/8',
  ),
  DROVER_WORKERS: whole(0, 256, 2),
  /** Where worker and conductor answer /healthz, /readyz and /metrics; 0 picks a free port. */
  DROVER_HEALTH_HOST: ownHost,
  DROVER_HEALTH_PORT: whole(0, 65_535, 0),
  /** Whether `up` starts a lab. */
  DROVER_LAB: yesOrNo('1'),
  DROVER_LAB_PORT: whole(0, 65_535, 7071),
  /** Left out: the world that is there stays. A lab whose world was changed while it ran must not lose it. */
  DROVER_LAB_WORLD: setting(z.enum(worlds).optional(), oneOf(worlds), 'small'),
  DROVER_LAB_PASSWORD: secret(8),
  DROVER_LAB_ADMIN_TOKEN: secret(16),
  DROVER_LAB_TLS: yesOrNo('0'),
  DROVER_SECRET_KEY: setting(
    z.string().regex(secretKey).optional(),
    '64 hexadecimal digits (32 bytes)',
    madeUp,
  ),
  DROVER_SECRET_KEYS_OLD: setting(
    z.string().regex(secretKeys).optional(),
    'keys of 64 hexadecimal digits with commas between',
    madeUp,
  ),
  DROVER_CONCURRENCY: setting(
    z
      .string()
      .regex(/^([a-z-]+=\d+)(,[a-z-]+=\d+)*$/)
      .optional(),
    'kinds of jobs with how many at once',
    'self-test=16,final-verify=2',
  ),
  DROVER_LEASE_MS: milliseconds(leaseMsDefault),
  DROVER_DRAIN_MS: milliseconds(20_000),
  /** The server ends a statement of a worker or conductor after this; its silence counts 5 s later. */
  DROVER_STATEMENT_MS: milliseconds(15_000),
  DROVER_EVENTS_KEPT_DAYS_MIN: whole(1, 36_500, eventsKeptDaysMin, ' of days'),
  /** Below it lie the archives that images are imported from as files. */
  DROVER_IMAGE_DIR: text('the path of a folder', '/srv/images'),
  /** Whether archives are read from addresses of private networks and of this machine. */
  DROVER_IMAGE_PRIVATE: yesOrNo('0'),
  DROVER_SEAL_HEADS_FILE: text('the path of a file', '/var/lib/drover/heads'),
  DROVER_LOG_LEVEL: setting(z.enum(logLevels).default('info'), oneOf(logLevels), 'info'),
  OTEL_EXPORTER_OTLP_ENDPOINT: setting(
    z
      .string()
      .regex(/^https?:\/\//)
      .refine((url) => URL.canParse(url))
      .optional(),
    'the http:// or https:// address of a collector',
    'http://collector:4318',
  ),
  OTEL_EXPORTER_OTLP_HEADERS: headerList,
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: headerList,
})
