import { entryName } from '../tar/entry-name.ts'

export const hashAlgorithms = ['sha1', 'sha256', 'sha512'] as const
export type HashAlgorithm = (typeof hashAlgorithms)[number]

export interface FileHash {
  readonly algorithm: HashAlgorithm
  /** Lower-case hex. */
  readonly hex: string
}

/** The hash of each file. */
export type Manifest = ReadonlyMap<string, FileHash>

export const manifestBytesMost = 1024 ** 2

const hexLength: Readonly<Record<HashAlgorithm, number>> = { sha1: 40, sha256: 64, sha512: 128 }

const isHashAlgorithm = (text: string): text is HashAlgorithm =>
  (hashAlgorithms as readonly string[]).includes(text)

/** `SHA256(file)= 0123…`, a line for each file. */
const line = /^\s*(sha-?\d+)\s*\((.+)\)\s*=\s*([0-9a-f]+)\s*$/i

/** Reads the lines of a manifest; throws a `RangeError` that names the problem. */
export const readManifest = (text: string): Manifest => {
  const files = new Map<string, FileHash>()
  for (const [index, one] of text.split(/\r?\n/).entries()) {
    if (one.trim() === '') continue
    const { name, hash } = readLine(one, index + 1)
    if (!isWholeHash(hash)) throw new RangeError(`line ${index + 1} has a hash of the wrong length`)
    const first = files.get(name)
    if (first && (first.algorithm !== hash.algorithm || first.hex !== hash.hex))
      throw new RangeError(`it has two different hashes of ${name}`)
    files.set(name, hash)
  }
  return files
}

export const readLine = (
  text: string,
  number: number,
): { readonly name: string; readonly hash: FileHash; readonly hex: string } => {
  const [, word = '', file = '', hex = ''] = line.exec(text) ?? []
  const algorithm = word.toLowerCase().replace('-', '')
  const name = entryName(file.trim())
  if (word === '') throw new RangeError(`line ${number} is no line of a manifest`)
  if (!isHashAlgorithm(algorithm)) throw new RangeError(`line ${number} has the unknown hash ${algorithm}`)
  if (name === undefined) throw new RangeError(`line ${number} names a file outside of the archive`)
  return { name, hash: { algorithm, hex: hex.toLowerCase() }, hex }
}

const isWholeHash = ({ algorithm, hex }: FileHash): boolean => hex.length === hexLength[algorithm]
