import { z } from 'zod'
import { defineKind } from '../kind.ts'

/** Switches changed-block tracking of one VM on, or looks anew whether each of its disks is tracked. */
export const trackInstance = defineKind({
  kind: 'track-instance',
  title: 'Track the changes of an instance',
  version: 1,
  needs: 'instance',
  // Jobs that hang on the same have a quarter of them.
  concurrency: 16,
  sharesSlots: true,
  payload: z.strictObject({
    instance: z.uuid(),
    /** `enable` may have to switch the VM off and on; `reset` only looks. */
    verb: z.enum(['enable', 'reset']),
    /** Removes the snapshots that are in the way. They are gone for good. */
    remove_snapshots: z.boolean().default(false),
    /** Pulls the plug of a guest that does not go off in time. */
    force: z.boolean().default(false),
    timeout_seconds: z.int().min(5).max(86_400).default(300),
  }),
  retry: { environmentMax: 20 },
})
