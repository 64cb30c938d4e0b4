import type { ImageFacts, ImageState } from './image.ts'
import { isDowngrade } from './product-version.ts'
import type { VersionState } from './version.ts'

/** So many swaps to the same image may fail one after the other before a person has to look. */
export const triesMost = 3

export interface AskedImage {
  readonly id: string
  readonly name: string
  readonly state: ImageState
  readonly facts: Pick<ImageFacts, 'product' | 'version'> | null
}

/** A version as far as these rules look. */
export interface TriedVersion {
  readonly number: number
  readonly imageId: string
  readonly state: VersionState
  /** Its swap has failed. */
  readonly failed: boolean
}

export interface AskFacts {
  readonly image: AskedImage
  /** What the name points at now; null: nothing yet. */
  readonly live: AskedImage | null
  readonly allowDowngrade: boolean
  /** The newest first. */
  readonly versions: readonly TriedVersion[]
}

export type AskRefusal =
  | { readonly code: 'image-not-ready'; readonly state: ImageState }
  | { readonly code: 'template-downgrade'; readonly from: string; readonly to: string }
  | { readonly code: 'template-hot-loop'; readonly tries: number }

/** Why the image may not be wanted now; null: it may. */
export const refuseImage = (asked: AskFacts): AskRefusal | null => {
  const { image, live } = asked
  // One that is being imported is waited for by the job.
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

/** An image that is not read yet is looked at by the job. */
const isOlder = (image: AskedImage, live: AskedImage): boolean =>
  image.facts !== null && live.facts !== null && isDowngrade(live.facts, image.facts)

/** How often in a row the newest versions have failed with this image. */
const failedTries = (versions: readonly TriedVersion[], imageId: string): number => {
  const other = versions.findIndex((version) => version.imageId !== imageId || !version.failed)
  return other === -1 ? versions.length : other
}

/**
 * The version to go back to when none is named: what is live while another one is wanted, or else what was live before
 * it. Undefined: there is none.
 */
export const versionBefore = (
  versions: readonly TriedVersion[],
  { live, wanted }: { readonly live: number | null; readonly wanted: number },
): TriedVersion | undefined => {
  if (live !== null && live !== wanted) return versions.find(({ number }) => number === live)
  return versions.find(({ number, state }) => number < wanted && (state === 'kept' || state === 'gone'))
}
