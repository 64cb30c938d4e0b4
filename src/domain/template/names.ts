import { createHash } from 'node:crypto'

/**
 * Names of our objects in the folder of a template. They follow from the template alone and have a fixed length, so a
 * later process finds what an earlier one left without any record. A name tells the role of an object; whether the
 * object is ours is told by its tag.
 */

/** The longest name that every platform takes. */
export const longestProductionName = 80

export interface TemplateAddress {
  /** The folder on the target, as the platform calls it. */
  readonly folder: string
  /** The name that clones are made from. */
  readonly production: string
}

export interface TemplateNames {
  readonly production: string
  readonly temp: string
  readonly old: string
}

export const templateNames = ({ folder, production }: TemplateAddress): TemplateNames => {
  const mark = shortHash(`${folder}\n${production}`)
  return { production, temp: `drv-tmp-${mark}`, old: `drv-old-${mark}` }
}

/** The name of an image that no template has: it waits in the folder for its next use. */
export const shelfName = ({ imageId, folder }: { imageId: string; folder: string }): string =>
  `drv-img-${shortHash(`${imageId}\n${folder}`)}`

/** A name that could be one of ours: no template is called so. */
export const isReservedName = (name: string): boolean => /^drv-(tmp|old|img)-/.test(name)

export const isShelfName = (name: string): boolean => name.startsWith('drv-img-')

const shortHash = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 12)

const imageTag = 'drover.image'
const installationTag = 'drover.install'

/** What an object of ours carries: the image that it holds, and which installation made it. */
export const ownerOfImage = (of: {
  readonly imageId: string
  readonly installation: string
}): Readonly<Record<string, string>> => ({
  [imageTag]: of.imageId,
  [installationTag]: of.installation,
})

/** The image that an object holds; undefined: the object is not ours. */
export const ownedImage = (
  owner: Readonly<Record<string, string>>,
  installation: string,
): string | undefined => (owner[installationTag] === installation ? owner[imageTag] : undefined)
