import { z } from 'zod'
import { defineKind } from './kind.ts'

/** Does one operation on a machine: what, is in the operation's own row. */
export const operateMachine = defineKind({
  kind: 'operate-machine',
  title: 'Operate a machine',
  version: 1,
  payload: z.strictObject({ operation_id: z.uuid() }),
  retry: { environmentMax: 20 },
  concurrency: 16,
  keepsTokens: true,
})
