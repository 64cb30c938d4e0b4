import { z } from 'zod'
import { defineKind, nameSchema } from '../kind.ts'

/** The options of every reading of a site. */
export const syncOptions = {
  /** `delta` falls back to `full` where the platform cannot tell what changed. */
  mode: z.enum(['full', 'delta']).default('delta'),
  reason: z.enum(['manual', 'periodic', 'first', 'before-start']).default('manual'),
  /** Believes a source that suddenly shows nothing at all. */
  force: z.boolean().default(false),
}

/** A failing sync gives up soon: the next one is due anyway and knows better what to read. */
export const syncRetry = {
  transientMax: 4,
  environmentMax: 3,
  baseMs: 500,
  capMs: 30_000,
  environmentCapMs: 60_000,
  waitsForPassword: false,
}

/** Reads a source's inventory and records what is true now. */
export const syncSource = defineKind({
  kind: 'sync-source',
  title: 'Sync a source',
  version: 1,
  needs: 'site',
  payload: z.strictObject({ source: nameSchema, ...syncOptions }),
  retry: syncRetry,
})
