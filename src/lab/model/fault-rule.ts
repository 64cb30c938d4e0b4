import { z } from 'zod'
import { wireError } from '../../platforms/lab/protocol.ts'

const name = z.string().min(1).max(1_000)

/** A change of the world for the worse (or back), done at once or when a call comes. */
export const act = z.discriminatedUnion('act', [
  /** `crash`: its machines lose power. `partition`: they run on, and nobody can see or reach them. */
  z.object({ act: z.literal('host-dead'), site: name, host: name, mode: z.enum(['crash', 'partition']) }),
  z.object({ act: z.literal('host-back'), site: name, host: name }),
  z.object({ act: z.literal('capacity-gone'), site: name, of: z.enum(['host', 'storage']), ref: name }),
  z.object({ act: z.literal('capacity-back'), site: name, of: z.enum(['host', 'storage']), ref: name }),
  /** What the site says the time is; its work goes on by the real one. */
  z.object({ act: z.literal('clock-skew'), site: name, ms: z.number().int() }),
  z.object({ act: z.literal('certificate-change') }),
  z.object({ act: z.literal('password-change'), site: name, password: z.string().min(1).max(1_024) }),
  z.object({ act: z.literal('session-loss'), site: name }),
  /** Deltas can no longer be continued. */
  z.object({ act: z.literal('cursor-loss'), site: name }),
])
export type Act = z.infer<typeof act>

const which = {
  /** Names of calls; left out: any. */
  call: z.union([name, z.array(name).min(1)]).optional(),
  site: name.optional(),
  machine: name.optional(),
  caller: name.optional(),
  /** Of the calls that fit, how many it strikes; which ones follows from the seed. */
  probability: z.number().min(0).max(1).default(1),
  seed: z.number().int().default(0),
  /** So many calls that fit are let through first. */
  skip: z.number().int().nonnegative().default(0),
  /** It strikes so often and then no more; null: always. */
  times: z.number().int().positive().nullable().default(null),
}

export const faultRule = z.discriminatedUnion('kind', [
  z.object({ ...which, kind: z.literal('delay'), ms: z.number().int().nonnegative().max(600_000) }),
  /** `after`: the call is done first, and answered as if it had failed. */
  z.object({
    ...which,
    kind: z.literal('error'),
    code: wireError.shape.code.default('platform-fault'),
    failure: wireError.shape.failure.default('unknown'),
    message: z.string().max(10_000).default('A fault was asked for.'),
    after: z.boolean().default(false),
  }),
  /** The call is done, then the connection ends without an answer. */
  z.object({ ...which, kind: z.literal('lost-answer') }),
  /** No answer for so long (left out: for as long as it is there and the caller waits), before or after the call is done. */
  z.object({
    ...which,
    kind: z.literal('stall'),
    ms: z.number().int().positive().max(3_600_000).optional(),
    after: z.boolean().default(false),
  }),
  /** Of the bytes that are written, this part arrives; then the connection ends. */
  z.object({ ...which, kind: z.literal('partial-write'), fraction: z.number().min(0).max(1).default(0.5) }),
  /** A byte of each block that is read or written is another, and nobody says so. */
  z.object({ ...which, kind: z.literal('corrupt-block') }),
  /** An answer no client should trust. */
  z.object({
    ...which,
    kind: z.literal('answer'),
    shape: z.enum(['huge', 'drip', 'html', 'redirect', 'cut', 'not-json']),
    location: z.string().max(2_000).default('http://127.0.0.1:9/'),
  }),
  z.object({ ...which, kind: z.literal('act'), do: act }),
])
export type FaultRule = z.infer<typeof faultRule>
