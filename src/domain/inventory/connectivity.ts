import { utcText } from '../text/utc-text.ts'

/** The state of the connection to a platform, as of the last try. */
export const connectivityStates = [
  'unknown',
  'ok',
  'cannot-connect',
  'tls-error',
  'confirm-fingerprint',
  'authentication-error',
] as const
export type ConnectivityState = (typeof connectivityStates)[number]

/** The meaning of a state, and what a person can do. */
export interface ConnectivityMeaning {
  readonly sentence: string
  readonly remedy: string
}

export const connectivityMeanings: Readonly<Record<ConnectivityState, ConnectivityMeaning>> = {
  unknown: {
    sentence: 'Nobody has tried to reach it since it was added or changed.',
    remedy: 'Wait for the first check, or start one.',
  },
  ok: { sentence: 'It answers and lets us in.', remedy: 'Nothing to do.' },
  'cannot-connect': {
    sentence: 'It does not answer, or what answers is no such platform.',
    remedy:
      'Check the endpoint, its name in DNS, the firewall and whether the platform runs. It is tried again.',
  },
  'tls-error': {
    sentence:
      'No safe connection can be made: its certificate is not trusted, has expired or names another host.',
    remedy: 'Renew the certificate, give the CA that signed it, or pin its fingerprint.',
  },
  'confirm-fingerprint': {
    sentence: 'It shows a certificate that nobody has confirmed, or another one than before.',
    remedy:
      'Compare the fingerprint with the one on the platform itself, then confirm it. Nothing is sent before.',
  },
  'authentication-error': {
    sentence: 'It answers and does not let us in, or not far enough.',
    remedy: 'Check the user name, the password, whether the account is locked, and its permissions.',
  },
}

/**
 * The stored password of a site cannot be opened. Nothing is sent to the platform, so another look costs it nothing.
 */
export const sealBrokenCode = 'site-seal-broken'

/** The meaning of a state, or of the last error's code where that is more precise. */
export const meaningOfConnection = (
  state: ConnectivityState,
  code: string | null | undefined,
): ConnectivityMeaning =>
  code === sealBrokenCode
    ? {
        sentence: 'Its stored password does not open, so nobody can sign in.',
        remedy:
          'Compare its address, user and certificate with what they should be, and give its password again.',
      }
    : connectivityMeanings[state]

/** By the code of a platform's error. Other codes say nothing about the connection. */
const stateByCode: Readonly<Record<string, ConnectivityState>> = {
  'platform-unreachable': 'cannot-connect',
  'platform-timeout': 'cannot-connect',
  'platform-answer-invalid': 'cannot-connect',
  'platform-redirects': 'cannot-connect',
  'platform-tls': 'tls-error',
  'platform-fingerprint': 'confirm-fingerprint',
  'platform-authentication': 'authentication-error',
  'platform-permission': 'authentication-error',
  // The stored password cannot be read, so nobody can sign in with it.
  [sealBrokenCode]: 'authentication-error',
  // Another installation answers: everything known about the connection is void.
  'platform-identity-changed': 'unknown',
}

/**
 * The state after a try: `code` is the platform error's code, null on success. An error that says nothing about the
 * connection (busy, overloaded, a lost session) keeps the state.
 */
export const connectivityAfter = (code: string | null, before: ConnectivityState): ConnectivityState => {
  if (code === null) return 'ok'
  return saysOfConnection(code) ? (stateByCode[code] ?? before) : before
}

/** Whether an error concerns the connection itself, so that a check would tell more. */
export const saysOfConnection = (code: string): boolean => Object.hasOwn(stateByCode, code)

/** Network errors that mean that nobody answers, and that nothing of ours causes. */
const nobodyThere: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENOTFOUND',
  'ETIMEDOUT',
])

/**
 * What a failed call of any job says about a connection. `away`: nobody answers, or sign-in is impossible, and nothing
 * was sent. `doubtful`: the connection broke, or no answer came in time, which a busy platform does as well: a check
 * tells.
 */
export const connectionAfter = (error: {
  readonly code: string
  /** Only in errors of platforms. */
  readonly failure?: string
  readonly detail?: Readonly<Record<string, unknown>> | undefined
}): 'away' | 'doubtful' | 'unsaid' => {
  const { code, failure, detail } = error
  if (code === sealBrokenCode) return 'away'
  if (!saysOfConnection(code)) return 'unsaid'
  const refused = code === 'platform-unreachable' && failure === 'refused'
  return refused && nobodyThere.has(detail?.reason) ? 'away' : 'doubtful'
}

/**
 * A site that is away is checked this often, so that machines that are off because of it do not wait for the usual
 * check.
 */
export const awayCheckSeconds = 15

/**
 * How soon a site is checked again. Not sooner when it refuses the sign-in: frequent tries lock accounts. A password
 * that cannot be opened is never sent.
 */
export const checkSecondsAfter = (state: ConnectivityState, code: string | null, usual: number): number =>
  state === 'cannot-connect' || code === sealBrokenCode ? Math.min(usual, awayCheckSeconds) : usual

/** A source or target that is away. */
export interface AwaySite {
  readonly role: string
  readonly name: string
  readonly connectivity: string
  readonly since: number
  /** The error of the last try; empty: none. */
  readonly message: string
}

/** States in which work does not wait for a platform: a platform that was never tried is not known to be away. */
export const notAway: readonly string[] = ['ok', 'unknown'] satisfies ConnectivityState[]

/** Whether work with a platform waits for it. */
export const isAway = (connectivity: string): boolean => !notAway.includes(connectivity)

/** `The target oslo does not answer, since 2026-11-19 12:03 UTC: 10.0.0.1:443 cannot be reached (ECONNREFUSED).` */
export const awayText = ({ role, name, connectivity, since, message }: AwaySite): string => {
  const what = connectivity === 'cannot-connect' ? 'does not answer' : `is not connected (${connectivity})`
  const said = message === '' ? '.' : `: ${/[.!?]$/.test(message) ? message : `${message}.`}`
  return `The ${role} ${name} ${what}, since ${utcText(since)}${said}`
}
