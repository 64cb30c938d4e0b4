import { z } from 'zod'
import { defineKind } from '../kind.ts'

/** Carries out one operation on a machine; the operation's row says which. */
export const operateMachine = defineKind({
  kind: 'operate-machine',
  title: 'Operate a machine',
  version: 1,
  needs: 'operation',
  payload: z.strictObject({ operation_id: z.uuid() }),
  retry: { environmentMax: 20 },
  // Twice the share of one target: its turns only wait for the target's answers.
  concurrency: 32,
  keepsTokens: true,
  // A lane is a target.
  lanesLeaveRoom: true,
})
