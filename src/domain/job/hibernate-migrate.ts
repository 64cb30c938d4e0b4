import { z } from 'zod'
import { defineKind, nameSchema } from './kind.ts'

/** Moves a machine to another host by saving its state, carrying it over and waking it there. */
export const hibernateMigrate = defineKind({
  kind: 'hibernate-migrate',
  title: 'Move a machine by hibernation',
  version: 1,
  payload: z.strictObject({
    machine_id: z.uuid(),
    move_id: z.uuid(),
    from_host: nameSchema,
    to_host: nameSchema,
    downtime_limit_seconds: z.int().positive().max(86_400).optional(),
  }),
})
