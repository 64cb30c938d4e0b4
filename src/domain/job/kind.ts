import { z } from 'zod'
import { defaultRetryPolicy, type RetryPolicy } from './retry.ts'

/** What jobs of a kind are about, where they are nothing without it. */
export type JobNeed = 'operation' | 'entry' | 'site' | 'instance' | 'template' | 'image'

/**
 * A job kind: its name (spelled as in the API and as its queue), its payload by version, and how it behaves.
 * A payload is stored with the version it was written at; a worker that does not know the version leaves the
 * job alone, so old and new workers can share a fleet.
 */
export interface JobKind<Payload = unknown> {
  readonly kind: string
  readonly title: string
  /** The newest payload version this code writes and the highest it can run. */
  readonly version: number
  readonly payload: z.ZodType<Payload>
  /** Upgrades an older payload, one version at a time: `upgrades[1]` makes version 2 out of version 1. */
  readonly upgrades: Readonly<Record<number, (older: unknown) => unknown>>
  readonly retry: RetryPolicy
  /** How many run at once in one worker process, unless the settings say otherwise. */
  readonly concurrency: number
  /**
   * What its tokens admit continues on a platform between its turns: the job keeps the tokens from its first turn
   * until it ends or requests others. Jobs of other kinds hold tokens only during a turn.
   */
  readonly keepsTokens: boolean
  /**
   * A lane always leaves slots free: for kinds whose turns may hang on a dead platform, where a lane stands for that
   * platform. Bells are then not rung ahead, so this is not for short and numerous jobs.
   */
  readonly lanesLeaveRoom: boolean
  /**
   * Jobs of this kind call platforms, which their tokens name. Jobs that depend on the same thing (lane, source,
   * target, host) never get all slots, over all workers. See `room.ts`.
   */
  readonly sharesSlots: boolean
  /** A job whose need is gone is not run again: it could only fail. */
  readonly needs: JobNeed | null
}

export interface JobKindOptions<Payload> {
  kind: string
  title: string
  version: number
  payload: z.ZodType<Payload>
  upgrades?: Record<number, (older: unknown) => unknown>
  retry?: Partial<RetryPolicy>
  concurrency?: number
  keepsTokens?: boolean
  lanesLeaveRoom?: boolean
  sharesSlots?: boolean
  needs?: JobNeed
}

const kindName = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/

export const defineKind = <Payload>(options: JobKindOptions<Payload>): JobKind<Payload> => {
  if (!kindName.test(options.kind)) throw new Error(`Job kind "${options.kind}" must be kebab-case.`)
  const upgrades = options.upgrades ?? {}
  for (let version = 1; version < options.version; version += 1)
    if (!upgrades[version]) throw new Error(`${options.kind}: no upgrade from payload version ${version}.`)
  return {
    kind: options.kind,
    title: options.title,
    version: options.version,
    payload: options.payload,
    upgrades,
    retry: { ...defaultRetryPolicy, ...options.retry },
    concurrency: options.concurrency ?? 4,
    keepsTokens: options.keepsTokens ?? false,
    lanesLeaveRoom: options.lanesLeaveRoom ?? false,
    sharesSlots: options.sharesSlots ?? false,
    needs: options.needs ?? null,
  }
}

/**
 * Checks a payload against its kind after upgrading it. Throws zod's error when it does not fit, and refuses a newer
 * version even if it would fit: a field may have changed its meaning.
 */
export const readPayload = <Payload>(kind: JobKind<Payload>, version: number, stored: unknown): Payload => {
  if (version > kind.version)
    throw new Error(
      `${kind.kind}: payload version ${version} is newer than version ${kind.version} of this code.`,
    )
  let payload = stored
  for (let at = version; at < kind.version; at += 1) payload = kind.upgrades[at]?.(payload)
  return kind.payload.parse(payload)
}

/** Names of things in Drover: what a person types and a URL carries. */
export const nameSchema = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, 'must be 1 to 63 letters, digits, dots, dashes or underscores')

/** Ids of things inside a platform (managed-object ids, UUIDs, domain names): bounded, printable, no blanks. */
export const platformIdSchema = z
  .string()
  .regex(/^[\x21-\x7e]{1,128}$/, 'must be 1 to 128 printable characters')
