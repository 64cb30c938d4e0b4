import type { Readable } from 'node:stream'
import type { Call } from './call.ts'
import type { Found, TaskHandle, TasksOf } from './task.ts'

export interface TemplateFacts {
  readonly ref: string
  readonly name: string
  readonly folder: string
  readonly owner: Readonly<Record<string, string>>
  /** False until everything is in place: an import that was cut short never looks whole. */
  readonly complete: boolean
}

/** One disk of an image that streams in; `open` is called once, when its turn comes. */
export interface ImageDisk {
  readonly id: string
  readonly capacity: number
  /** Bytes that will come, as they are sent. */
  readonly size: number
  readonly format: 'vmdk-stream' | 'raw' | 'qcow2'
  readonly open: () => Promise<Readable>
}

export interface NewImage {
  readonly templateName: string
  readonly folder: string
  readonly project: string
  readonly pool: string
  readonly host: string
  readonly network: string
  /** The descriptor for platforms that read it themselves. */
  readonly ovf: string
  readonly cpus: number
  readonly memory: number
  readonly disks: readonly ImageDisk[]
  readonly owner: Readonly<Record<string, string>>
}

export interface ImportProgress {
  readonly done: number
  readonly total: number
}

/** Images as templates. Names are a folder's own; what is ours carries our ownership. */
export interface TemplatesPort extends TasksOf {
  /** As what it takes the disks of an image. */
  readonly imageFormats: readonly ImageDisk['format'][]
  /** What is in that folder alone, however its name is spelled. Empty: the platform's own choice; some list all. */
  templates(call: Call, folder: string): Promise<readonly TemplateFacts[]>
  template(call: Call, ref: string): Promise<Found<TemplateFacts>>
  /**
   * Streams the disks in; resolves with the ref when all bytes are there. Aborted or failed: nothing is left, unless
   * the caller was fenced: then its successor, which has the same name, finds what is there.
   */
  importImage(call: Call, image: NewImage, onProgress: (progress: ImportProgress) => void): Promise<string>
  /** The last step of an import, or the switch of a machine that is off. */
  markTemplate(call: Call, machine: string): Promise<void>
  markMachine(call: Call, template: string): Promise<void>
  renameTemplate(call: Call, ref: string, newName: string): Promise<TaskHandle>
  destroyTemplate(call: Call, ref: string): Promise<TaskHandle>
}
