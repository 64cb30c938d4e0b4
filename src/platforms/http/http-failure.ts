import { type Failure, PlatformError } from '../ports/platform-error.ts'

/** How far one exchange came: whether its bytes may have reached the platform decides what a failure means. */
export interface RequestContext {
  readonly host: string
  readonly method: string
  /** Without the query, which may hold a secret. */
  readonly path: string
  sent: boolean
}

/** Nothing sent: nothing happened. Anything else without an answer: who knows. */
export const failureOf = (requestContext: RequestContext): Failure =>
  requestContext.sent ? 'unknown' : 'refused'

/** Any error of a socket, of TLS, of the parser or of the call's end, as the one that the caller is to see. */
export const asHttpFailure = (thrown: unknown, requestContext: RequestContext): Error => {
  if (thrown instanceof PlatformError) return timelyFailure(thrown, requestContext)
  const code = (thrown as { code?: unknown } | undefined)?.code
  if (typeof code !== 'string') return thrown instanceof Error ? thrown : new Error(String(thrown))
  if (code.startsWith('HPE_')) return answerInvalid(requestContext, `it is no HTTP (${code})`, thrown)
  if (/^(EPROTO$|ERR_SSL_|ERR_TLS_|ERR_OSSL_)/.test(code)) return tlsProblem(requestContext, code, thrown)
  if (isNetworkCode(code)) return unreachable(requestContext, code, thrown)
  return thrown as Error
}

/** A deadline that passed before anything was sent is a clear no. */
const timelyFailure = (error: PlatformError, requestContext: RequestContext): PlatformError =>
  error.code === 'platform-timeout' && error.failure === 'unknown' && !requestContext.sent
    ? new PlatformError({
        code: 'platform-timeout',
        failure: 'refused',
        message: `${requestContext.host} was not reached in time. ${error.message}`,
        remedy: error.remedy,
        detail: { ...error.detail, host: requestContext.host },
      })
    : error

export const timedOutWaiting = (
  requestContext: RequestContext,
  what: string,
  waitedMs: number,
): PlatformError =>
  new PlatformError({
    code: 'platform-timeout',
    failure: failureOf(requestContext),
    message: `${requestContext.host} ${what} within ${waitedMs} ms.`,
    remedy: 'It is tried again. When it stays so, look at the platform and at the network to it.',
    detail: { ...place(requestContext), waited_ms: waitedMs },
  })

export const answerInvalid = (requestContext: RequestContext, why: string, cause?: unknown): PlatformError =>
  new PlatformError(
    {
      code: 'platform-answer-invalid',
      failure: failureOf(requestContext),
      message: `The answer of ${requestContext.host} cannot be used: ${why}.`,
      remedy: 'Check that the address leads to the platform itself and not to a proxy or another service.',
      detail: place(requestContext),
    },
    { cause },
  )

export const redirects = (requestContext: RequestContext, location: string): PlatformError => {
  const to = URL.canParse(location, 'https://unknown')
    ? new URL(location, `https://${requestContext.host}`)
    : undefined
  const target = to ? to.host : 'somewhere that is no URL'
  return new PlatformError({
    code: 'platform-redirects',
    failure: 'refused',
    message: `${requestContext.host} sends us on to ${target}, and credentials are never taken elsewhere.`,
    remedy:
      'Give the address of the platform itself. Was it moved, or is there a proxy or a login page before it?',
    field: 'endpoint',
    detail: { ...place(requestContext), redirects_to: target },
  })
}

export const forbiddenAddress = (requestContext: RequestContext): PlatformError =>
  new PlatformError({
    code: 'platform-refused',
    failure: 'refused',
    message: `${requestContext.host} has an address that no platform may send us to: this machine's own, link-local or unspecified.`,
    remedy: 'Look at what the platform says of its hosts, and at the name server that answered.',
    detail: { host: requestContext.host },
  })

export const closedByUs = (host: string): PlatformError =>
  new PlatformError({
    code: 'platform-session-lost',
    failure: 'refused',
    message: `This connection to ${host} was closed by ourselves.`,
    remedy: 'Nothing to do: it is tried again on a new one.',
    detail: { host },
  })

const tlsProblem = (requestContext: RequestContext, code: string, cause: unknown): PlatformError =>
  new PlatformError(
    {
      code: 'platform-tls',
      failure: failureOf(requestContext),
      message: `No secure connection with ${requestContext.host} could be made (${code}).`,
      remedy: 'Check the port, and that the platform speaks TLS 1.2 or newer there.',
      field: 'endpoint',
      detail: { ...place(requestContext), reason: code },
    },
    { cause },
  )

const unreachable = (requestContext: RequestContext, code: string, cause: unknown): PlatformError =>
  new PlatformError(
    {
      code: 'platform-unreachable',
      failure: failureOf(requestContext),
      message: requestContext.sent
        ? `${requestContext.host} broke off before its answer was whole (${code}).`
        : `${requestContext.host} cannot be reached (${code}).`,
      remedy: 'Check that the platform runs, its address and port, and the network and firewalls between.',
      detail: { ...place(requestContext), reason: code },
    },
    { cause },
  )

const place = ({ host, method, path }: RequestContext) => ({ host, method, path })

const networkCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EAI_FAIL',
  'EAI_NODATA',
  'EAI_NONAME',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'EADDRNOTAVAIL',
  'ETIMEDOUT',
  'EMFILE',
  'ERR_STREAM_PREMATURE_CLOSE',
  'ERR_SOCKET_CLOSED',
])

const isNetworkCode = (code: string): boolean => networkCodes.has(code)
