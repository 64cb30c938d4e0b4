import type { ImageRefusalCode } from '../stream/image-refusal.ts'

/** What is wrong with a descriptor; the archive says where it is. */
export class OvfRefusal extends Error {
  readonly code: ImageRefusalCode

  constructor(message: string, code: ImageRefusalCode = 'image-descriptor-invalid') {
    super(message)
    this.code = code
  }
}
