import { tarText } from './tar-header.ts'

/** The fields of an extended header for the next file. */
export interface PaxFields {
  readonly path?: string
  readonly size?: number
  /** A field that no OVA has: of a link, or of a sparse file. */
  readonly odd?: string
}

/** Reads records of `length key=value\n`, where the length includes itself; undefined: invalid. */
export const readPax = (bytes: Buffer): PaxFields | undefined => {
  let fields: PaxFields = {}
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(0x20, at)
    const digits = space === -1 ? '' : bytes.toString('latin1', at, Math.min(space, at + 12))
    const end = at + Number(digits)
    if (!/^[1-9]\d{0,9}$/.test(digits) || end > bytes.length || bytes[end - 1] !== 0x0a) return undefined
    const record = tarText(bytes.subarray(space + 1, end - 1))
    const equals = record?.indexOf('=') ?? -1
    if (!record || equals < 1) return undefined
    const next = field(record.slice(0, equals), record.slice(equals + 1))
    if (!next) return undefined
    fields = { ...fields, ...next }
    at = end
  }
  return fields
}

const field = (key: string, value: string): PaxFields | undefined => {
  if (key === 'path') return { path: value }
  if (key === 'linkpath' || key.startsWith('GNU.sparse.')) return { odd: key }
  if (key !== 'size') return {}
  const size = Number(value)
  return /^\d+$/.test(value) && Number.isSafeInteger(size) ? { size } : undefined
}
