import type { ByteReader } from '../stream/byte-reader.ts'
import { tarText } from '../tar/tar-header.ts'

/** In sectors; writers reserve 20 to 128. */
export const descriptorSectorsMost = 2_048

const kinds = ['streamoptimized', 'monolithicsparse']

/**
 * Refuses a descriptor that references anything except its own file: another extent, a parent, a path. Drover never
 * opens such files, and a platform that gets the VMDK must not open them either.
 */
export const checkVmdkDescriptor = (bytes: Buffer, capacity: number, reader: ByteReader): void => {
  const text = tarText(bytes)
  if (text === null) throw reader.refuse('image-disk-invalid', 'The descriptor of the VMDK is not in UTF-8.')
  const lines = text.split(/\r?\n/).map((one) => one.trim())
  const value = (name: string): string =>
    lines
      .map((one) => new RegExp(`^${name}\\s*=\\s*"?([^"]*)"?$`, 'i').exec(one)?.[1])
      .find((one) => one !== undefined)
      ?.trim()
      .toLowerCase() ?? ''
  const kind = value('createType')
  if (!kinds.includes(kind))
    throw reader.refuse('image-disk-unsupported', `The VMDK is of the kind ${JSON.stringify(kind)}.`)
  const parent = value('parentCID')
  if ((parent !== '' && parent !== 'ffffffff') || value('parentFileNameHint') !== '')
    throw reader.refuse('image-delta-disk', 'The VMDK holds only what differs from another disk.')
  const extents = lines.filter((one) => /^(rw|rdonly|noaccess)\s/i.test(one))
  const [extent = ''] = extents
  const [, sectors, type = '', name = ''] = /^\w+\s+(\d+)\s+(\w+)\s+"([^"]*)"\s*$/.exec(extent) ?? []
  if (extents.length !== 1 || type.toLowerCase() !== 'sparse' || name === '' || /[\\/:\p{Cc}]/u.test(name))
    throw reader.refuse('image-disk-foreign-file', 'The VMDK names another file than itself.')
  if (Number(sectors) !== capacity)
    throw reader.refuse(
      'image-disk-invalid',
      `The VMDK has ${capacity} sectors, and its descriptor says ${sectors}.`,
    )
}
