import { z } from 'zod'
import { defineKind } from '../kind.ts'

/** Undoes an effect that could not be undone when its job ended. */
export const settleDebt = defineKind({
  kind: 'settle-debt',
  title: 'Settle a debt',
  version: 1,
  payload: z.strictObject({ effect_id: z.uuid() }),
  retry: { transientMax: 1, environmentMax: 1, bugMax: 1, waitsForPassword: false },
  // A lane is a platform; the number is twice the share of one platform.
  concurrency: 8,
  lanesLeaveRoom: true,
})
