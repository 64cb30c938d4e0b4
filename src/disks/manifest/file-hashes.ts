import { createHash, type Hash } from 'node:crypto'
import { type FileHash, type HashAlgorithm, hashAlgorithms } from './manifest.ts'

/**
 * The hashes of the files of an archive. Which a manifest wants is known only when the manifest came before the file: else
 * all are made.
 */
export class FileHashes {
  readonly #made = new Map<string, ReadonlyMap<HashAlgorithm, string>>()

  /** Counts the bytes of a file; `end` keeps what came of them. */
  begin(name: string, wanted: FileHash | undefined | 'unknown'): { add(bytes: Buffer): void; end(): void } {
    const algorithms = wanted === 'unknown' ? hashAlgorithms : wanted ? [wanted.algorithm] : []
    const hashes = algorithms.map((algorithm) => [algorithm, createHash(algorithm)] as [HashAlgorithm, Hash])
    return {
      add: (bytes) => {
        for (const [, hash] of hashes) hash.update(bytes)
      },
      end: () => {
        const made = hashes.map(([algorithm, hash]) => [algorithm, hash.digest('hex')] as const)
        this.#made.set(name, new Map(made))
      },
    }
  }

  has(name: string): boolean {
    return this.#made.has(name)
  }

  /** Whether a file is as told; false too when it was not hashed that way. */
  matches(name: string, { algorithm, hex }: FileHash): boolean {
    return this.#made.get(name)?.get(algorithm) === hex
  }
}
