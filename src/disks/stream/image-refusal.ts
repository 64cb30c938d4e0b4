import { DroverError } from '../../errors.ts'
import { storableLine } from '../../storable.ts'

const anew = 'Make the image again, or get it again from its maker.'
const again = 'Get the archive again: it was damaged or cut off on its way.'
const convert =
  'Convert the disk to a streamOptimized VMDK (ovftool, qemu-img convert -O vmdk) and pack the archive again.'
const trust = 'Do not use this archive; ask its maker. Nothing of it was kept.'

/** The reasons to refuse an archive, with the remedy. */
const remedies = {
  'image-is-zip': 'Unpack it; what is inside may be the OVA, or the files to make one of with tar.',
  'image-is-packed': 'Unpack it first: an OVA is a plain tar archive.',
  'image-not-tar': 'Give an OVA: a tar archive whose first file is the OVF descriptor.',
  'image-truncated': again,
  'image-header-invalid': again,
  'image-entry-name': trust,
  'image-entry-kind': trust,
  'image-entry-duplicate': trust,
  'image-too-many-entries': anew,
  'image-text-too-large': anew,
  'image-trailing-data': trust,
  'image-descriptor-missing': 'Pack the archive with its OVF descriptor first.',
  'image-descriptor-several': 'Pack each machine into an archive of its own.',
  'image-descriptor-invalid': anew,
  'image-file-missing': again,
  'image-file-size': again,
  'image-delta-disk': 'Consolidate the snapshots of the machine and export it again.',
  'image-format-unknown': convert,
  'image-format-mismatch': trust,
  'image-disk-invalid': again,
  'image-disk-unsupported': convert,
  'image-disk-scattered': convert,
  'image-disk-foreign-file': trust,
  'image-disk-encrypted': 'Decrypt the disk and pack the archive again.',
  'image-disk-too-large': trust,
  'image-capacity-differs':
    'Nothing to do: the archive is read once more with the capacity of the disk itself.',
  'image-disk-order': 'Pack the disks in the order in which the descriptor lists them.',
  'image-manifest-invalid': anew,
  'image-manifest-required': 'Pack a manifest (.mf) that names every file, or allow images without one.',
  'image-hash-mismatch': trust,
  'image-signature-invalid': trust,
  'image-digest-mismatch':
    'Compare the digest with the digest that its maker publishes; get the archive again.',
} as const

export type ImageRefusalCode = keyof typeof remedies

export interface RefusalPlace {
  /** The file in the archive; empty: the archive itself. */
  readonly entry: string
  /** Bytes from the start of the archive; null: inside a packed file. */
  readonly position: number | null
}

/** An archive that is damaged, hostile or of an unsupported kind. A retry does not help. */
export class ImageRefusal extends DroverError {
  declare readonly code: ImageRefusalCode

  constructor(
    code: ImageRefusalCode,
    message: string,
    {
      cause,
      detail,
      ...place
    }: Partial<RefusalPlace> & { cause?: unknown; detail?: Record<string, unknown> },
  ) {
    const { entry = '', position = null } = place
    super(
      {
        code,
        class: 'permanent',
        message: storableLine(`${message}${whereText(entry, position)}`),
        remedy: remedies[code],
        detail: { ...detail, ...(entry === '' ? {} : { entry: storableLine(entry, 200) }), position },
      },
      { cause },
    )
    this.name = 'ImageRefusal'
  }
}

const whereText = (entry: string, position: number | null): string => {
  const where = [
    ...(entry === '' ? [] : [`in ${storableLine(entry, 200)}`]),
    ...(position === null ? [] : [`at byte ${position} of the archive`]),
  ]
  return where.length === 0 ? '' : ` (${where.join(', ')})`
}
