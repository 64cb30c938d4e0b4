import { z } from 'zod'
import { defineKind } from '../kind.ts'

/** Switches change tracking of one VM on, or checks whether each of its disks is tracked. */
export const trackInstance = defineKind({
  kind: 'track-instance',
  title: 'Track the changes of an instance',
  version: 1,
  needs: 'instance',
  // Jobs that depend on the same things get a quarter of the slots.
  concurrency: 16,
  sharesSlots: true,
  payload: z.strictObject({
    instance: z.uuid(),
    /** `enable` may have to power-cycle the VM; `reset` only looks. */
    verb: z.enum(['enable', 'reset']),
    /** Removes the snapshots that are in the way, for good. */
    remove_snapshots: z.boolean().default(false),
    /** Cuts the power of a guest that does not shut down in time. */
    force: z.boolean().default(false),
    timeout_seconds: z.int().min(5).max(86_400).default(300),
  }),
  retry: { environmentMax: 20 },
})
