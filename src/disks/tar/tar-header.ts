import { tarNumber } from './tar-number.ts'

export const blockBytes = 512

export interface TarHeader {
  /** The raw name with its prefix; null: not UTF-8. */
  readonly name: string | null
  readonly size: number
  readonly type: string
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Text up to the first NUL; null: not UTF-8. */
export const tarText = (bytes: Buffer): string | null => {
  const end = bytes.indexOf(0)
  try {
    return utf8.decode(end === -1 ? bytes : bytes.subarray(0, end))
  } catch {
    return null
  }
}

export const isZero = (bytes: Buffer): boolean => bytes.every((byte) => byte === 0)

/** Reads a header block; undefined: no header, or damaged. */
export const readTarHeader = (block: Buffer): TarHeader | undefined => {
  const size = tarNumber(block.subarray(124, 136))
  if (size === undefined || !sumIsRight(block)) return undefined
  const name = tarText(block.subarray(0, 100))
  // GNU has times in the field that ustar uses for the front of the name.
  const isUstar = block.toString('latin1', 257, 263) === 'ustar\0'
  const prefix = isUstar ? tarText(block.subarray(345, 500)) : ''
  const whole = name === null || prefix === null ? null : prefix === '' ? name : `${prefix}/${name}`
  return { name: whole, size, type: String.fromCharCode(block[156] as number) }
}

/** Old writers summed signed bytes. */
const sumIsRight = (block: Buffer): boolean => {
  const told = tarNumber(block.subarray(148, 156))
  let plain = 0
  let signed = 0
  for (let at = 0; at < blockBytes; at += 1) {
    const byte = at >= 148 && at < 156 ? 0x20 : (block[at] as number)
    plain += byte
    signed += byte < 128 ? byte : byte - 256
  }
  return told === plain || told === signed
}
