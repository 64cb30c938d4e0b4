import type { Clock } from '../../clock.ts'
import { DroverError, type ErrorFacts } from '../../errors.ts'

/** An open archive, read once from start to end. */
export interface OpenSource {
  readonly bytes: AsyncIterable<Buffer>
  /** Null: unknown. */
  readonly size: number | null
  /** Identifies the content, as the server or the file system states. Null: no statement. */
  readonly mark: string | null
  close(): Promise<void>
}

/** The sources that a worker may read archives from. */
export interface SourceMeans {
  /** Only files below this folder; undefined: no files. */
  readonly dir: string | undefined
  readonly allowPrivate: boolean
}

export interface Opening {
  readonly means: SourceMeans
  readonly signal: AbortSignal
  readonly clock: Clock
}

/** The size of a read: large, for few reads. */
export const readBytes = 1024 ** 2

const remedies = {
  'image-source-unreachable':
    'The import is tried again. If the error stays, check the server of the archive and the network to it.',
  'image-source-refused':
    'Make the archive available and readable (a private address: DROVER_IMAGE_PRIVATE=1 on every worker), then run the job again; or delete the image and import it from elsewhere.',
  'image-source-changed': 'Nothing to do: the archive is read again from its start.',
} as const

/** Why an archive cannot be read. */
export const sourceError = (
  code: keyof typeof remedies,
  facts: Pick<ErrorFacts, 'class' | 'message'> & { readonly cause?: unknown },
): DroverError => {
  const { cause, ...rest } = facts
  return new DroverError({ ...rest, code, remedy: remedies[code] }, { cause })
}
