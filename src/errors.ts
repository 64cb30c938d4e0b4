import type { ErrorClass } from './domain/job/retry.ts'

/** What an error says to a person and to a program. `remedy` is what to do next, never what happened. */
export interface ErrorFacts {
  readonly code: string
  readonly class: ErrorClass
  readonly message: string
  readonly remedy: string
  readonly field?: string
  readonly detail?: Record<string, unknown>
}

/** How an error is kept in a job row, an effect or an event. Holds no stack and no secret. */
export interface RecordedError {
  readonly code: string
  readonly class: ErrorClass
  readonly message: string
  readonly remedy: string
  readonly field?: string
  readonly detail?: Record<string, unknown>
}

/**
 * The one error type of Drover. `code` is stable and documented, `class` decides whether and when a job is
 * tried again, `message` is a sentence, `remedy` is what a person can do.
 */
export class DroverError extends Error {
  readonly code: string
  readonly class: ErrorClass
  readonly remedy: string
  readonly field: string | undefined
  readonly detail: Record<string, unknown> | undefined

  constructor(facts: ErrorFacts, options?: { cause?: unknown }) {
    super(facts.message, options)
    this.name = 'DroverError'
    this.code = facts.code
    this.class = facts.class
    this.remedy = facts.remedy
    this.field = facts.field
    this.detail = facts.detail
  }

  /** It is certain that what was asked for outside did not happen, and will not: a clear no. */
  get cameToNothing(): boolean {
    return false
  }
}

/** The lease is gone: somebody else owns the job now. Nothing more may be written or done for it. */
export class FencedError extends DroverError {
  constructor(jobId: string, epoch: number) {
    super({
      code: 'fenced',
      class: 'transient',
      message: `Job ${jobId} is no longer held at epoch ${epoch}; another worker may own it.`,
      remedy: 'Nothing to do: the current owner goes on with the job.',
      detail: { job_id: jobId, epoch },
    })
    this.name = 'FencedError'
  }
}

/** SQLSTATE of "permission denied": this login may not do that in the database. */
export const isPrivilegeMissing = (thrown: unknown): boolean =>
  thrown instanceof Error && 'code' in thrown && thrown.code === '42501'

/** No try cures it, and nothing in the code is wrong: somebody has to say who may do what. */
export const privilegeMissing = (cause: unknown): DroverError =>
  new DroverError(
    {
      code: 'database-privilege-missing',
      class: 'config',
      message: `Postgres refuses this role what it needs: ${cause instanceof Error ? cause.message : String(cause)}.`,
      remedy:
        "Run `drover migrate` of this version as the owner of the database, and see that DATABASE_URL names a member of the role's group.",
      field: 'DATABASE_URL',
    },
    { cause },
  )

/** The setting that names the authorities of a store's certificate. */
export type TrustSetting = 'DATABASE_CA_FILE' | 'REDIS_CA_FILE'

/** What OpenSSL and Node call what is wrong with a certificate or a handshake. */
export const tlsCode =
  /^(ERR_TLS|ERR_SSL|EPROTO$|CERT_|CRL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_CA|ERROR_IN_CERT)/

/** The store shows a certificate that we do not accept. Waiting does not cure it: a person has to look. */
export const certificateRefused = (store: 'Postgres' | 'Redis', cause: Error): DroverError => {
  const field: TrustSetting = store === 'Postgres' ? 'DATABASE_CA_FILE' : 'REDIS_CA_FILE'
  return new DroverError(
    {
      code: 'store-certificate-refused',
      class: 'config',
      message: `The certificate of ${store} is not accepted: ${cause.message}.`,
      remedy: `Name the authority that signed it by ${field}, and the server by a name that its certificate holds. When both are right, somebody else answers at that address.`,
      field,
    },
    { cause },
  )
}

/** Whether an error, or what caused it, says that a certificate was not accepted. */
export const refusedCertificate = (thrown: unknown): Error | undefined => {
  if (!(thrown instanceof Error)) return undefined
  if ('code' in thrown && typeof thrown.code === 'string' && tlsCode.test(thrown.code)) return thrown
  return refusedCertificate(thrown.cause)
}

/** The same, of a statement: the driver of Postgres puts what it was asked into its errors. */
export const refusedStatement = (thrown: unknown): Error | undefined => {
  const refused = refusedCertificate(thrown)
  return refused && 'query' in refused ? refused : undefined
}

/** Anything thrown, as a DroverError. An error nobody foresaw is ours: class `bug`. */
export const asDroverError = (thrown: unknown): DroverError => {
  if (thrown instanceof DroverError) return thrown
  if (isPrivilegeMissing(thrown)) return privilegeMissing(thrown)
  const refused = refusedStatement(thrown)
  if (refused) return certificateRefused('Postgres', refused)
  const cause = thrown instanceof Error ? thrown : new Error(String(thrown))
  return new DroverError(
    {
      code: 'unexpected',
      class: 'bug',
      message: `Unexpected error: ${cause.message}`,
      remedy: 'This is a defect in Drover. Look for the job id in the logs and report the stack found there.',
    },
    { cause },
  )
}

export const recordError = (error: DroverError): RecordedError => ({
  code: error.code,
  class: error.class,
  message: error.message,
  remedy: error.remedy,
  ...(error.field === undefined ? {} : { field: error.field }),
  ...(error.detail === undefined ? {} : { detail: error.detail }),
})
