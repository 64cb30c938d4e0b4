import { createHash } from 'node:crypto'

/**
 * Names of our objects in the folder of a template. They are computed from the template alone and have a fixed
 * length, so a later process finds the objects of an earlier process without any record. The name of an object gives
 * its role; only the tag of the object proves that the object is ours.
 */

/** The longest name that every platform accepts. */
export const longestProductionName = 80

export interface TemplateAddress {
  /** The folder on the target, in the platform's notation. */
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

/** The name of an object on the shelf: a copy of an image that no template uses. */
export const shelfName = ({ imageId, folder }: { imageId: string; folder: string }): string =>
  `drv-img-${shortHash(`${imageId}\n${folder}`)}`

/** Whether the name is reserved for our objects; no template may have such a name. */
export const isReservedName = (name: string): boolean => /^drv-(tmp|old|img)-/.test(name)

export const isShelfName = (name: string): boolean => name.startsWith('drv-img-')

const shortHash = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 12)

const imageTag = 'drover.image'
const installationTag = 'drover.install'

/** The tag of our objects: the image in the object, and the installation that made the object. */
export const ownerOfImage = (of: {
  readonly imageId: string
  readonly installation: string
}): Readonly<Record<string, string>> => ({
  [imageTag]: of.imageId,
  [installationTag]: of.installation,
})

/** The image in an object; undefined: the object is not ours. */
export const ownedImage = (
  owner: Readonly<Record<string, string>>,
  installation: string,
): string | undefined => (owner[installationTag] === installation ? owner[imageTag] : undefined)
