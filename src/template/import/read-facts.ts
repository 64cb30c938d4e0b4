import type { ImageRow } from '../../../db/schema/template.ts'
import type { ArchiveEnd } from '../../disks/archive-files.ts'
import type { Ova } from '../../disks/open-ova.ts'
import type { ImageFacts, ImageRead } from '../../domain/template/image.ts'

/** CPUs and memory of the descriptor, with defaults for missing values. */
export const machineOf = ({ descriptor }: Ova): { readonly cpus: number; readonly memory: number } => ({
  cpus: descriptor.cpus ?? 1,
  memory: descriptor.memory ?? 1024 ** 3,
})

const factsOf = (ova: Ova): ImageFacts => {
  const { product, version, vendor, os, firmware, secureBoot, networks, eula } = ova.descriptor
  return {
    ...{ product, version, vendor, os, networks },
    ...machineOf(ova),
    firmware: secureBoot ? 'efi-secure' : firmware,
    disks: ova.disks.map(({ id, capacity, format, size }) => ({ id, capacity, format, size: size ?? 0 })),
    ...(eula === '' ? {} : { eula }),
  }
}

export const readOf = (ova: Ova, end: ArchiveEnd): ImageRead => ({
  digest: end.digest,
  sizeBytes: end.sizeBytes,
  verified: end.verified,
  facts: factsOf(ova),
  ovf: ova.ovfText,
})

/** The recorded facts of an image that was read before; undefined: not read yet. */
export const knownRead = ({ digest, sizeBytes, verified, facts, ovf }: ImageRow): ImageRead | undefined =>
  digest === null || sizeBytes === null || verified === null || facts === null || ovf === null
    ? undefined
    : { digest, sizeBytes, verified, facts, ovf }
