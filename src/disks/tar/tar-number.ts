/** A number of a tar header: octal digits, or base-256 if the first bit is set. Undefined: invalid. */
export const tarNumber = (field: Buffer): number | undefined =>
  ((field[0] ?? 0) & 0x80) === 0 ? octal(field) : base256(field)

const octal = (field: Buffer): number | undefined => {
  const text = field
    .toString('latin1')
    .replace(/^ +/, '')
    .replace(/[ \0]+$/, '')
  if (text === '') return 0
  return /^[0-7]+$/.test(text) ? Number.parseInt(text, 8) : undefined
}

/** Sizes of 8 GiB and more. Negative numbers and unsafe integers are invalid. */
const base256 = (field: Buffer): number | undefined => {
  if (field[0] !== 0x80) return undefined
  let value = 0
  for (const byte of field.subarray(1)) {
    value = value * 256 + byte
    if (!Number.isSafeInteger(value)) return undefined
  }
  return value
}
