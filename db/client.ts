import postgres from 'postgres'
import { hasSeveralHosts } from '../src/config/several-hosts.ts'
import { refusedStatement } from '../src/errors.ts'
import { arrayTypes } from './array-types.ts'
import { securedUrl } from './secured-url.ts'
import { watchedSocket } from './watched-socket.ts'

/** How values of special types look in our code: a bigint of the ledger always fits a number. */
export interface DbTypes extends Record<string, unknown> {
  bigint: number
}
/** A pool of connections. */
export type Db = postgres.Sql<DbTypes>
/** A transaction: what `enqueue` and everything that must commit together take. */
export type Tx = postgres.TransactionSql<DbTypes>
/** Either: for verbs that are one statement. */
export type Queryable = postgres.ISql<DbTypes>

export interface DbOptions {
  readonly url: string
  readonly max: number
  readonly applicationName: string
  /** The server gives up on a statement after this. */
  readonly statementMs?: number
  readonly connectMs?: number
  /** The server ends the session when it hears nothing for this long: for one whose mere existence matters. */
  readonly idleSessionMs?: number
  /** The server ends a transaction in which it hears nothing for this long: others wait for its locks. */
  readonly idleInTransactionMs?: number
  /**
   * Plans each statement once a connection. For pools whose statements go by keys and arrays: there the plan never
   * depends on the values, and planning anew took longer than a claim.
   */
  readonly planOnce?: boolean
}

/**
 * Where names are looked up, set by each connection for itself, so that no default of a role or a database decides:
 * Postgres's own first (it comes before what is listed), then ours, temporary ones last.
 */
export const searchPath = 'public, pg_temp'

/** `?host=/folder` is where the server has its Unix socket, as libpq and `pg` know it; postgres.js does not. */
const withoutSocketDir = (text: string): { readonly url: string; readonly socketDir?: string } => {
  if (hasSeveralHosts(text)) return { url: text }
  const url = new URL(text)
  const socketDir = url.searchParams.get('host')
  if (!socketDir?.startsWith('/')) return { url: text }
  url.searchParams.delete('host')
  return { url: url.href, socketDir }
}

/**
 * Opens a pool. Columns come back in camelCase, moments as Date, bigints as numbers. Every statement is
 * bounded on both sides: by the server's clock and by a socket that notices a silent server.
 */
export const openDb = (options: DbOptions): Db => {
  const statementMs = options.statementMs ?? 15_000
  const connectMs = options.connectMs ?? 5_000
  const { url, socketDir } = withoutSocketDir(options.url)
  const secured = securedUrl(url)
  return postgres(secured.url, {
    ...secured.options,
    ...(socketDir === undefined ? {} : { host: socketDir }),
    max: options.max,
    connect_timeout: Math.ceil(connectMs / 1000),
    backoff: () => 0.25,
    onnotice: () => {},
    socket: (endpoint: { host: string[]; port: number[]; path?: string | false }) =>
      watchedSocket(endpoint, { connectMs, silenceMs: statementMs + 5_000 }),
    connection: {
      application_name: options.applicationName,
      search_path: searchPath,
      // The parsers below know these forms alone.
      bytea_output: 'hex',
      DateStyle: 'ISO',
      statement_timeout: statementMs,
      idle_in_transaction_session_timeout: options.idleInTransactionMs ?? 60_000,
      ...(options.planOnce ? { plan_cache_mode: 'force_generic_plan' } : {}),
      ...(options.idleSessionMs === undefined ? {} : { idle_session_timeout: options.idleSessionMs }),
    },
    transform: { column: { from: postgres.toCamel, to: postgres.fromCamel } },
    fetch_types: false,
    types: {
      ...arrayTypes,
      bigint: {
        to: 20,
        from: [20],
        serialize: (n: number) => String(n),
        parse: (text: string) => Number(text),
      },
    },
    // `socket` is documented but missing in the library's types.
  } as postgres.Options<{ bigint: postgres.PostgresType<number> }>) as unknown as Db
}

/** SQLSTATEs and socket errors that say "the database is away", not "the statement is wrong". */
const awayCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ENOENT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'CONNECTION_CLOSED',
  'CONNECTION_ENDED',
  'CONNECTION_DESTROYED',
  'CONNECT_TIMEOUT',
  '57P01',
  '57P02',
  '57P03',
  '08000',
  '08003',
  '08006',
  '25P03',
  '53300',
  // It is there but cannot serve: a statement or lock that took too long, a deadlock, a standby, a full disk.
  '57014',
  '57P05',
  '55P03',
  '40P01',
  '40001',
  '25006',
  '53100',
  '53200',
])

const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined

/** Whether an error means that Postgres could not be reached; the statement may or may not have run. */
export const isDbAway = (error: unknown): boolean => {
  const code = codeOf(error)
  if (code !== undefined && awayCodes.has(code)) return true
  // A certificate that has run out is renewed by somebody: no job may fail of it meanwhile.
  if (refusedStatement(error)) return true
  return error instanceof Error && error.message.startsWith('Postgres')
}

export const isDeadlock = (error: unknown): boolean => codeOf(error) === '40P01'

/** The name of the constraint that refused a write, if that is what happened. */
export const violatedConstraint = (error: unknown): string | undefined => {
  if (!(error instanceof postgres.PostgresError) || !error.code.startsWith('23')) return undefined
  return error.constraint_name
}
