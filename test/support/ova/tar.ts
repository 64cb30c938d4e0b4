/** An entry of an archive. Every odd thing that a writer may do has a word of its own. */
export interface TarFile {
  readonly name: string
  readonly bytes: Buffer
  readonly type?: string
  /** How the size is written where it is not in octal digits. */
  readonly sizeAs?: 'base256' | 'pax'
  /** How the name is written. */
  readonly nameAs?: 'gnu' | 'pax' | 'prefix'
  readonly linkName?: string
}

const block = 512

export const padded = (bytes: Buffer, unit = block): Buffer =>
  Buffer.concat([bytes, Buffer.alloc((unit - (bytes.length % unit)) % unit)])

export const tarHeader = (
  file: Pick<TarFile, 'name' | 'type' | 'linkName'> & { readonly size: number; readonly base256?: boolean },
): Buffer => {
  const header = Buffer.alloc(block)
  header.write(file.name, 0, 100)
  header.write('0000644\0', 100)
  if (file.base256) {
    header[124] = 0x80
    header.writeBigUInt64BE(BigInt(file.size), 128)
  } else header.write(`${file.size.toString(8).padStart(11, '0')}\0`, 124)
  header.write('00000000000\0', 136)
  header.write(file.type ?? '0', 156)
  header.write(file.linkName ?? '', 157)
  header.write('ustar\x0000', 257)
  return summed(header)
}

/** With the sum that its bytes have. */
export const summed = (header: Buffer): Buffer => {
  header.fill(0x20, 148, 156)
  const sum = header.reduce((all, byte) => all + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return header
}

export const paxRecord = (key: string, value: string): string => {
  const rest = ` ${key}=${value}\n`
  let length = Buffer.byteLength(rest) + 1
  while (Buffer.byteLength(`${length}${rest}`) !== length) length += 1
  return `${length}${rest}`
}

const extended = (type: string, bytes: Buffer): Buffer =>
  Buffer.concat([tarHeader({ name: 'PaxHeaders/x', type, size: bytes.length }), padded(bytes)])

export const tarFile = (file: TarFile): Buffer => {
  const { name, bytes, nameAs, sizeAs } = file
  const records = [
    ...(nameAs === 'pax' ? [paxRecord('path', name)] : []),
    ...(sizeAs === 'pax' ? [paxRecord('size', String(bytes.length))] : []),
  ]
  const header = tarHeader({
    ...file,
    name: nameAs === undefined ? name : nameAs === 'prefix' ? (name.split('/').at(-1) as string) : 'short',
    // The true size is in the extended fields alone, as it is above 8 GiB.
    size: sizeAs === 'pax' ? 0 : bytes.length,
    base256: sizeAs === 'base256',
  })
  if (nameAs === 'prefix') {
    header.write(name.split('/').slice(0, -1).join('/'), 345)
    summed(header)
  }
  return Buffer.concat([
    ...(nameAs === 'gnu' ? [extended('L', Buffer.from(`${name}\0`))] : []),
    ...(records.length > 0 ? [extended('x', Buffer.from(records.join('')))] : []),
    header,
    padded(bytes),
  ])
}

export const tarOf = (files: readonly TarFile[]): Buffer =>
  padded(Buffer.concat([...files.map(tarFile), Buffer.alloc(2 * block)]), 10_240)
