import { z } from 'zod'
import type { OperationKind } from './kinds.ts'

/** A host by its name or the platform's id. */
const host = z.string().trim().min(1).max(255)
const name = z.string().trim().min(1).max(200)
const nothing = z.strictObject({})

/** What each kind needs to know beside the machine. */
export const operationParams = {
  start: nothing,
  stop: nothing,
  restart: nothing,
  snapshot: z.strictObject({
    name: name.optional(),
    memory: z.boolean().default(false),
    quiesce: z.boolean().default(false),
  }),
  /** The snapshot by its name or the platform's id. */
  restore: z.strictObject({ snapshot: name }),
  clone: z.strictObject({ name, folder: z.string().trim().max(1_000).default('') }),
  hibernate: nothing,
  /** `cold`: its memory is given up, and it starts as after a power cut. */
  wake: z.strictObject({ host: host.optional(), cold: z.boolean().default(false) }),
  migrate: z.strictObject({ host: host.optional() }),
  /** Away from where it is; where to is for Drover to find. */
  evict: nothing,
} as const satisfies Readonly<Record<OperationKind, z.ZodType>>

export type OperationParams<Kind extends OperationKind> = z.infer<(typeof operationParams)[Kind]>

/** What was stored with an operation, as its kind reads it. */
export const readParams = <Kind extends OperationKind>(kind: Kind, stored: unknown): OperationParams<Kind> =>
  operationParams[kind].parse(stored) as OperationParams<Kind>
