import type { Clock } from '../../clock.ts'
import { DroverError, type ErrorFacts } from '../../errors.ts'

/** An archive that is open: read once, from its start to its end. */
export interface OpenSource {
  readonly bytes: AsyncIterable<Buffer>
  /** Null: not told. */
  readonly size: number | null
  /** The same as long as the content is: what a server or a file system vouches for. Null: nothing does. */
  readonly mark: string | null
  close(): Promise<void>
}

/** What a worker may read archives from, and how. */
export interface SourceMeans {
  /** Files below it alone; undefined: none. */
  readonly dir: string | undefined
  readonly allowPrivate: boolean
}

export interface Opening {
  readonly means: SourceMeans
  readonly signal: AbortSignal
  readonly clock: Clock
}

/** Of a read: large, so that a disk or a network is asked seldom. */
export const readBytes = 1024 ** 2

const remedies = {
  'image-source-unreachable':
    'It is tried again. When it stays so, look at the server of the archive and at the network to it.',
  'image-source-refused':
    'See that the archive is there and may be read (a private address: DROVER_IMAGE_PRIVATE=1 on every worker), then run the job again; or delete the image and import it from elsewhere.',
  'image-source-changed': 'Nothing to do: it is read anew from its start.',
} as const

/** Why an archive cannot be read. */
export const sourceError = (
  code: keyof typeof remedies,
  facts: Pick<ErrorFacts, 'class' | 'message'> & { readonly cause?: unknown },
): DroverError => {
  const { cause, ...rest } = facts
  return new DroverError({ ...rest, code, remedy: remedies[code] }, { cause })
}
