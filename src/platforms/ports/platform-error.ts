import type { ErrorClass } from '../../domain/job/retry.ts'
import { DroverError } from '../../errors.ts'
import { storableLine } from '../../storable.ts'

/**
 * How a call of a platform failed. A look-up that finds nothing is no failure: it answers `{ found: false }`.
 *
 * - `absent`: what should be acted on is not there; nothing happened.
 * - `refused`: nothing happened. The platform looked and said no, or it was never asked: see {@link saidNo}.
 * - `unsupported`: this platform cannot do it at all; nothing was sent.
 * - `unknown`: no answer, or one that says nothing: it may or may not have happened. Look before acting again.
 */
export type Failure = 'absent' | 'refused' | 'unsupported' | 'unknown'

/** Every code a platform may answer with, with its class: one list, so that retries mean the same everywhere. */
export const platformCodes = {
  'platform-unreachable': 'environment',
  'platform-timeout': 'environment',
  'platform-overloaded': 'environment',
  /** The answer is too large, of another type, not what the protocol says, or goes on for ever. */
  'platform-answer-invalid': 'environment',
  'platform-redirects': 'config',
  'platform-tls': 'config',
  /** The certificate is not known yet, or another than the pinned one: a person has to confirm it. */
  'platform-fingerprint': 'config',
  'platform-authentication': 'config',
  'platform-permission': 'config',
  'platform-session-lost': 'transient',
  'platform-absent': 'permanent',
  'platform-refused': 'permanent',
  'platform-busy': 'transient',
  'platform-wrong-state': 'permanent',
  /** Somebody asked for its end before it was done. */
  'platform-aborted': 'permanent',
  'platform-name-taken': 'conflict',
  'platform-no-capacity': 'environment',
  'platform-unsupported': 'permanent',
  /** A delta cannot be continued: read everything once more. */
  'platform-cursor-lost': 'transient',
  'platform-fault': 'transient',
} as const satisfies Readonly<Record<string, ErrorClass>>

export type PlatformCode = keyof typeof platformCodes

export interface PlatformErrorFacts {
  readonly code: PlatformCode
  readonly failure: Failure
  readonly message: string
  readonly remedy: string
  readonly field?: string
  /** Facts for people and programs. Never a secret, never an answer's body. */
  readonly detail?: Record<string, unknown>
}

/**
 * Whatever a platform put into it is cleaned and bounded here, once for all: errors are stored with jobs and sites, go
 * into events and logs, and are shown on screens.
 */
export class PlatformError extends DroverError {
  readonly failure: Failure

  constructor(facts: PlatformErrorFacts, options?: { cause?: unknown }) {
    const { failure, message, remedy, detail, ...rest } = facts
    super(
      {
        ...rest,
        class: platformCodes[facts.code],
        message: storableLine(message),
        remedy: storableLine(remedy),
        ...(detail === undefined ? {} : { detail: cleanDetail(detail) }),
      },
      options,
    )
    this.name = 'PlatformError'
    this.failure = failure
  }

  override get cameToNothing(): boolean {
    return this.failure !== 'unknown'
  }
}

/** A certificate's names are the longest that is kept. */
const longestDetail = 4_000

const cleanDetail = (detail: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(detail).map(([key, value]) => [
      key,
      typeof value === 'string' ? storableLine(value, longestDetail) : value,
    ]),
  )

export const isAbsent = (error: unknown): boolean =>
  error instanceof PlatformError && error.failure === 'absent'

/** The machine is not on or off as what was asked for needs it. */
export const isWrongState = (error: unknown): boolean =>
  error instanceof PlatformError && error.code === 'platform-wrong-state'

export const isUnsupported = (error: unknown): boolean =>
  error instanceof PlatformError && error.failure === 'unsupported'

/** Codes of calls that nobody looked at: nothing was sent, or whoever answered did not let us in. */
const unasked: ReadonlySet<string> = new Set<PlatformCode>([
  'platform-unreachable',
  'platform-timeout',
  'platform-busy',
  'platform-overloaded',
  'platform-answer-invalid',
  'platform-redirects',
  'platform-tls',
  'platform-fingerprint',
  'platform-authentication',
  'platform-session-lost',
])

/**
 * Whether the platform looked at what was asked and said no. A platform that was not reached has refused nothing,
 * although nothing happened either: the same call may be granted as soon as it is back.
 */
export const saidNo = (error: unknown): error is PlatformError =>
  error instanceof PlatformError && error.failure === 'refused' && !unasked.has(error.code)

/** Whether a platform that was asked what has changed cannot tell: not at all, not from there, or not us. */
export const cannotTellChanges = (error: unknown): boolean =>
  isUnsupported(error) ||
  saidNo(error) ||
  (error instanceof PlatformError && error.code === 'platform-cursor-lost')

/** Whether what was asked for may have happened all the same: anything but a clear no. */
export const mayHaveHappened = (error: unknown): boolean =>
  !(error instanceof PlatformError) || error.failure === 'unknown'

/** The one way to say that a platform cannot do something. */
export const unsupported = (platform: string, what: string): PlatformError =>
  new PlatformError({
    code: 'platform-unsupported',
    failure: 'unsupported',
    message: `${platform} cannot ${what}.`,
    remedy: 'Choose another way: the capabilities of a source or target are listed with it.',
    detail: { platform, what },
  })
