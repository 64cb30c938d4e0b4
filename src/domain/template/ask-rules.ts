import type { ImageFacts, ImageState } from './image.ts'
import { isDowngrade } from './product-version.ts'
import type { VersionState } from './version.ts'

/** After this many failed swaps in a row to the same image, a person has to look. */
export const triesMost = 3

export interface AskedImage {
  readonly id: string
  readonly name: string
  readonly state: ImageState
  readonly facts: Pick<ImageFacts, 'product' | 'version'> | null
}

/** The part of a version that these rules read. */
export interface TriedVersion {
  readonly number: number
  readonly imageId: string
  readonly state: VersionState
  /** The swap to this version failed. */
  readonly failed: boolean
}

export interface AskFacts {
  readonly image: AskedImage
  /** The image that the name points at now; null: none yet. */
  readonly live: AskedImage | null
  readonly allowDowngrade: boolean
  /** The newest first. */
  readonly versions: readonly TriedVersion[]
}

export type AskRefusal =
  | { readonly code: 'image-not-ready'; readonly state: ImageState }
  | { readonly code: 'template-downgrade'; readonly from: string; readonly to: string }
  | { readonly code: 'template-hot-loop'; readonly tries: number }

/** Why a template must not point at the image now; null: no reason. */
export const refuseImage = (asked: AskFacts): AskRefusal | null => {
  const { image, live } = asked
  // The job waits for an image that is being imported.
  if (image.state === 'failed' || image.state === 'deleted')
    return { code: 'image-not-ready', state: image.state }
  if (live && !asked.allowDowngrade && isOlder(image, live))
    return {
      code: 'template-downgrade',
      from: live.facts?.version ?? '',
      to: image.facts?.version ?? '',
    }
  const tries = failedTries(asked.versions, image.id)
  return tries >= triesMost ? { code: 'template-hot-loop', tries } : null
}

/** The version of an image that is not read yet is compared later, by the job. */
const isOlder = (image: AskedImage, live: AskedImage): boolean =>
  image.facts !== null && live.facts !== null && isDowngrade(live.facts, image.facts)

/** How many of the newest versions in a row failed with this image. */
const failedTries = (versions: readonly TriedVersion[], imageId: string): number => {
  const other = versions.findIndex((version) => version.imageId !== imageId || !version.failed)
  return other === -1 ? versions.length : other
}

/**
 * The version of a rollback that names none: the live version while another version is wanted, otherwise the version
 * that was live before. Undefined: there is no such version.
 */
export const versionBefore = (
  versions: readonly TriedVersion[],
  { live, wanted }: { readonly live: number | null; readonly wanted: number },
): TriedVersion | undefined => {
  if (live !== null && live !== wanted) return versions.find(({ number }) => number === live)
  return versions.find(({ number, state }) => number < wanted && (state === 'kept' || state === 'gone'))
}
