import { z } from 'zod'
import { defineKind } from '../kind.ts'

export const powerVerbs = ['start', 'shutdown', 'stop', 'restart'] as const
export type PowerVerb = (typeof powerVerbs)[number]

/** Jobs that act on a machine of a source: one at a time. */
export const actsOnInstance: readonly string[] = ['power-instance', 'track-instance']

/** Switches one VM of a source on or off. */
export const powerInstance = defineKind({
  kind: 'power-instance',
  title: 'Switch an instance on or off',
  version: 1,
  needs: 'instance',
  // Jobs that depend on the same things get a quarter of the slots.
  concurrency: 16,
  sharesSlots: true,
  payload: z.strictObject({
    instance: z.uuid(),
    /** `shutdown` asks the guest; `stop` cuts the power. */
    verb: z.enum(powerVerbs),
    /** Cuts the power of a guest that does not shut down in time. */
    force: z.boolean().default(false),
    /** How long a guest may take to shut down. */
    timeout_seconds: z.int().min(5).max(86_400).default(300),
    /** The entry of a migration that was cancelled for this request: its withdrawal ends first. */
    after_entry: z.uuid().nullable().default(null),
  }),
  retry: { environmentMax: 20 },
})
