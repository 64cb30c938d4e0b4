import { z } from 'zod'
import { defineKind } from '../kind.ts'

/** Does one operation on a machine: what, is in the operation's own row. */
export const operateMachine = defineKind({
  kind: 'operate-machine',
  title: 'Operate a machine',
  version: 1,
  needs: 'operation',
  payload: z.strictObject({ operation_id: z.uuid() }),
  retry: { environmentMax: 20 },
  // Twice as many as one target gets: its turns only wait for what it answers.
  concurrency: 32,
  keepsTokens: true,
  // A lane is a target.
  lanesLeaveRoom: true,
})
