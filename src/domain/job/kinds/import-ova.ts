import { z } from 'zod'
import { defineKind } from '../kind.ts'

/** Streams an OVA into a template on the shelf of a target. */
export const importOva = defineKind({
  kind: 'import-ova',
  title: 'Import an image',
  version: 1,
  needs: 'image',
  concurrency: 8,
  sharesSlots: true,
  payload: z.strictObject({ image_id: z.uuid(), replica_id: z.uuid() }),
})
