import { deflateRawSync } from 'node:zlib'
import { padded } from './tar.ts'

export interface Qcow2Options {
  readonly version?: 2 | 3
  readonly clusterBits?: number
  readonly compressed?: boolean
  /** All tables before the data, instead of each before its own. */
  readonly tablesFirst?: boolean
  readonly dataFirst?: boolean
  readonly backingFile?: boolean
  readonly encryption?: number
  readonly features?: bigint
}

const header = (capacity: number, entries: number, options: Required<Qcow2Options>): Buffer => {
  const bytes = Buffer.alloc(104)
  bytes.write('QFI\xfb', 0, 'latin1')
  bytes.writeUInt32BE(options.version, 4)
  if (options.backingFile) {
    bytes.writeBigUInt64BE(112n, 8)
    bytes.writeUInt32BE(11, 16)
  }
  bytes.writeUInt32BE(options.clusterBits, 20)
  bytes.writeBigUInt64BE(BigInt(capacity), 24)
  bytes.writeUInt32BE(options.encryption, 32)
  bytes.writeUInt32BE(entries, 36)
  bytes.writeBigUInt64BE(BigInt(2 ** options.clusterBits), 40)
  if (options.version === 2) return bytes.subarray(0, 72)
  bytes.writeBigUInt64BE(options.features, 72)
  bytes.writeUInt32BE(4, 96)
  bytes.writeUInt32BE(104, 100)
  return bytes
}

const usual: Required<Qcow2Options> = {
  ...{ version: 3, clusterBits: 16, compressed: false, tablesFirst: false, dataFirst: false },
  ...{ backingFile: false, encryption: 0, features: 0n },
}

/** A qcow2 file without counts of references: a reader of one pass has no use for them. */
export const qcow2 = (content: Buffer, over: Qcow2Options = {}): Buffer => {
  const options = { ...usual, ...over }
  const cluster = 2 ** options.clusterBits
  const perTable = cluster / 8
  const entries = Math.ceil(content.length / (cluster * perTable))
  const directory = Buffer.alloc(Math.ceil((entries * 8) / cluster) * cluster)
  let at = cluster + directory.length
  const parts: Buffer[] = []
  const put = (bytes: Buffer): number => {
    const place = at
    parts.push(bytes)
    at += bytes.length
    return place
  }
  const tables = Array.from({ length: entries }, () => Buffer.alloc(cluster))
  const place = (entry: number) => {
    put(Buffer.alloc((cluster - (at % cluster)) % cluster))
    directory.writeBigUInt64BE((1n << 63n) | BigInt(put(tables[entry] as Buffer)), entry * 8)
  }
  if (options.tablesFirst) for (let entry = 0; entry < entries; entry += 1) place(entry)
  for (let entry = 0; entry < entries; entry += 1) {
    if (!options.tablesFirst && !options.dataFirst) place(entry)
    for (let index = 0; index < perTable; index += 1) {
      const from = (entry * perTable + index) * cluster
      const bytes = padded(content.subarray(from, from + cluster), cluster)
      if (from >= content.length) break
      if (bytes.every((byte) => byte === 0)) {
        // Zeros are said so in version 3, by turns with what was never written.
        if (options.version === 3 && index % 2 === 0)
          (tables[entry] as Buffer).writeBigUInt64BE(1n, index * 8)
        continue
      }
      ;(tables[entry] as Buffer).writeBigUInt64BE(
        write(bytes, options, put, () => at),
        index * 8,
      )
    }
    if (options.dataFirst) place(entry)
  }
  put(Buffer.alloc((512 - (at % 512)) % 512))
  return Buffer.concat([padded(header(content.length, entries, options), cluster), directory, ...parts])
}

const write = (
  bytes: Buffer,
  { compressed, clusterBits }: Required<Qcow2Options>,
  put: (bytes: Buffer) => number,
  at: () => number,
): bigint => {
  const packed = compressed ? deflateRawSync(bytes, { windowBits: 12 }) : bytes
  if (packed.length >= bytes.length) {
    put(Buffer.alloc((bytes.length - (at() % bytes.length)) % bytes.length))
    return (1n << 63n) | BigInt(put(bytes))
  }
  const offset = put(packed)
  const sectors = Math.floor((offset + packed.length - 1) / 512) - Math.floor(offset / 512)
  return (1n << 62n) | (BigInt(sectors) << BigInt(62 - (clusterBits - 8))) | BigInt(offset)
}
