/** Where the content of an image comes from. */
export type ImageSource =
  | {
      readonly kind: 'url'
      readonly url: string
      /** The authority of the server's certificate (PEM); not given: the authorities of this system. */
      readonly ca?: string
      /** SHA-256 of the server's certificate. If given, no authority is checked. */
      readonly fingerprint?: string
    }
  /** A file that a worker can read. */
  | { readonly kind: 'file'; readonly path: string }

export interface ImageDiskFacts {
  readonly id: string
  readonly capacity: number
  /** The format of the file in the archive. */
  readonly format: string
  readonly size: number
}

/** What the descriptor of an OVA says of the machine in it. */
export interface ImageFacts {
  readonly product: string
  readonly version: string
  readonly vendor: string
  readonly os: string
  readonly cpus: number
  readonly memory: number
  readonly firmware: string
  readonly disks: readonly ImageDiskFacts[]
  readonly networks: readonly string[]
  readonly eula?: string
}

/** What vouches for the content: a signature over the manifest, the manifest, or nothing in the archive. */
export const verifications = ['signature', 'manifest', 'none'] as const
export type Verification = (typeof verifications)[number]

/** What is recorded of an image after its archive was read to the end. */
export interface ImageRead {
  readonly digest: string
  readonly sizeBytes: number
  readonly verified: Verification
  readonly facts: ImageFacts
  readonly ovf: string
}

/** `deleted`: a tombstone. The id is never used again. */
export const imageStates = ['importing', 'ready', 'failed', 'deleted'] as const
export type ImageState = (typeof imageStates)[number]

export const replicaStates = ['importing', 'ready', 'removing', 'gone'] as const
export type ReplicaState = (typeof replicaStates)[number]

/** Where objects of images and templates are made on a target. Empty: the platform's own choice. */
export interface TemplatePlace {
  readonly project: string
  readonly pool: string
  readonly host: string
  readonly network: string
}
