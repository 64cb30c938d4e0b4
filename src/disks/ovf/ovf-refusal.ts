import type { ImageRefusalCode } from '../stream/image-refusal.ts'

/** A fault in a descriptor; the archive adds the position. */
export class OvfRefusal extends Error {
  readonly code: ImageRefusalCode

  constructor(message: string, code: ImageRefusalCode = 'image-descriptor-invalid') {
    super(message)
    this.code = code
  }
}
