import { z } from 'zod'
import { defineKind } from '../kind.ts'

/** Destroys an object that holds an image, by its recorded id and only while it carries our tag. */
export const removeReplica = defineKind({
  kind: 'remove-replica',
  title: 'Remove an image from a target',
  version: 1,
  concurrency: 4,
  sharesSlots: true,
  payload: z.strictObject({ replica_id: z.uuid() }),
})
