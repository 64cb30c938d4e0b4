import { z } from 'zod'
import { defineKind, nameSchema } from '../kind.ts'
import { syncOptions, syncRetry } from './sync-source.ts'

/** Reads what a target has: hosts, storage, networks, projects. */
export const syncTarget = defineKind({
  kind: 'sync-target',
  title: 'Sync a target',
  version: 1,
  needs: 'site',
  payload: z.strictObject({ target: nameSchema, ...syncOptions }),
  retry: syncRetry,
})
