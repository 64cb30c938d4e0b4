import { createHash, type Hash } from 'node:crypto'
import { type FileHash, type HashAlgorithm, hashAlgorithms } from './manifest.ts'

/**
 * The hashes of the files of an archive. The algorithm is known only if the manifest comes before the file; otherwise
 * all algorithms are computed.
 */
export class FileHashes {
  readonly #made = new Map<string, ReadonlyMap<HashAlgorithm, string>>()

  /** Starts the hashes of a file; `end` stores the result. */
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

  /** Whether a file has this hash; false also if the algorithm was not computed. */
  matches(name: string, { algorithm, hex }: FileHash): boolean {
    return this.#made.get(name)?.get(algorithm) === hex
  }
}
