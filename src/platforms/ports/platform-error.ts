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

interface CodeRule {
  /** Whether and when the job is tried again. */
  readonly class: ErrorClass
  /** Trouble that passes by itself: the call is sent again in the same turn, and an operation waits for its end. */
  readonly trouble?: 'unreachable' | 'busy' | 'failing' | 'full'
  /** Nobody looked at what was asked: nothing was sent, or whoever answered did not let us in. */
  readonly unasked?: true
}

/** Every code a platform may answer with, and all that follows from it: one list, so that retries mean the same everywhere. */
export const platformCodes = {
  'platform-unreachable': { class: 'environment', trouble: 'unreachable', unasked: true },
  'platform-timeout': { class: 'environment', trouble: 'unreachable', unasked: true },
  'platform-overloaded': { class: 'environment', trouble: 'unreachable', unasked: true },
  /** The answer is too large, of another type, not what the protocol says, or goes on for ever. */
  'platform-answer-invalid': { class: 'environment', trouble: 'failing', unasked: true },
  'platform-redirects': { class: 'config', unasked: true },
  'platform-tls': { class: 'config', unasked: true },
  /** The certificate is not known yet, or another than the pinned one: a person has to confirm it. */
  'platform-fingerprint': { class: 'config', unasked: true },
  'platform-authentication': { class: 'config', unasked: true },
  'platform-permission': { class: 'config' },
  'platform-session-lost': { class: 'transient', trouble: 'unreachable', unasked: true },
  'platform-absent': { class: 'permanent' },
  'platform-refused': { class: 'permanent' },
  'platform-busy': { class: 'transient', trouble: 'busy', unasked: true },
  'platform-wrong-state': { class: 'permanent' },
  /** Somebody asked for its end before it was done. */
  'platform-aborted': { class: 'permanent' },
  'platform-name-taken': { class: 'conflict' },
  'platform-no-capacity': { class: 'environment', trouble: 'full' },
  'platform-unsupported': { class: 'permanent' },
  /** A delta cannot be continued: read everything once more. */
  'platform-cursor-lost': { class: 'transient' },
  'platform-fault': { class: 'transient', trouble: 'failing' },
} as const satisfies Readonly<Record<string, CodeRule>>

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
        class: platformCodes[facts.code].class,
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

const ruleOf = (code: string): CodeRule | undefined =>
  Object.hasOwn(platformCodes, code) ? platformCodes[code as PlatformCode] : undefined

export type PassingTrouble = NonNullable<CodeRule['trouble']>

/** What passes by itself, if it is that. */
export const passingTrouble = ({ code }: DroverError): PassingTrouble | undefined => ruleOf(code)?.trouble

/** Whether it may have passed in a second: room does not come free so soon. */
export const passesAtOnce = (error: PlatformError): boolean =>
  !['full', undefined].includes(passingTrouble(error))

/**
 * Whether the platform looked at what was asked and said no. A platform that was not reached has refused nothing,
 * although nothing happened either: the same call may be granted as soon as it is back.
 */
export const saidNo = (error: unknown): error is PlatformError =>
  error instanceof PlatformError && error.failure === 'refused' && !ruleOf(error.code)?.unasked

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
