import { createHash } from 'node:crypto'
import { FileHashes } from './manifest/file-hashes.ts'
import { type Manifest, manifestBytesMost, readManifest } from './manifest/manifest.ts'
import { checkSignature, type Signer } from './manifest/signature.ts'
import { ImageRefusal } from './stream/image-refusal.ts'
import { isAppleDouble } from './tar/entry-name.ts'
import { type TarEntry, TarReader } from './tar/tar-reader.ts'

export interface ArchiveOptions {
  /** The required SHA-256 of the whole archive. */
  readonly expectedDigest?: string | null
  readonly requireManifest?: boolean
}

/** The result of reading an archive to its end. */
export interface ArchiveEnd {
  readonly digest: string
  readonly sizeBytes: number
  readonly verified: 'signature' | 'manifest' | 'none'
  readonly signer: Signer | null
  /** Sentences for people about oddities that are no reason to refuse the archive. */
  readonly warnings: readonly string[]
}

interface KeptText {
  readonly name: string
  readonly bytes: Buffer
  readonly start: number
}

/**
 * The files of an archive in their order, each hashed as it is read, with manifest and signature checked on the way.
 */
export class ArchiveFiles {
  readonly #tar: TarReader
  readonly #options: ArchiveOptions
  readonly #hashes = new FileHashes()
  readonly #whole = createHash('sha256')
  readonly #names: string[] = []
  #bytes = 0
  #manifest: (KeptText & { readonly files: Manifest }) | undefined
  #certificate: KeptText | undefined
  /** The file that is being read. */
  #open: { readonly entry: TarEntry; readonly body: AsyncGenerator<Buffer, void> } | undefined
  #ahead: TarEntry | null | undefined

  constructor(source: AsyncIterable<Buffer>, options: ArchiveOptions) {
    this.#options = options
    this.#tar = new TarReader(this.#counted(source))
  }

  /** Bytes of the archive that were consumed. */
  get position(): number {
    return this.#tar.reader.position
  }

  /** The next file except manifest and certificate; null at the end. The unread rest of the previous file is hashed. */
  async next(): Promise<TarEntry | null> {
    const next = await this.peek()
    this.#ahead = undefined
    return next
  }

  async peek(): Promise<TarEntry | null> {
    if (this.#ahead === undefined) this.#ahead = await this.#advance()
    return this.#ahead
  }

  /** The unread content of the last file that `next` returned. `next` reads what the caller leaves. */
  async *body(): AsyncGenerator<Buffer, void> {
    const body = this.#open?.body
    for (let next = await body?.next(); next && !next.done; next = await body?.next()) yield next.value
  }

  async text(entry: TarEntry, most: number): Promise<Buffer> {
    if (entry.size > most)
      throw new ImageRefusal('image-text-too-large', `The file has ${entry.size} bytes.`, placeOf(entry))
    const pieces: Buffer[] = []
    for await (const piece of this.body()) pieces.push(piece)
    return Buffer.concat(pieces)
  }

  /** Checks the archive as a whole. Call it when there is no next file. */
  end(): ArchiveEnd {
    const digest = this.#whole.digest('hex')
    const { expectedDigest, requireManifest } = this.#options
    if (expectedDigest && expectedDigest !== digest)
      throw new ImageRefusal(
        'image-digest-mismatch',
        `The archive has the digest ${digest}, not ${expectedDigest}.`,
        {},
      )
    const warnings = this.#checkFiles()
    const isWhole = this.#manifest !== undefined && warnings.every(({ isGap }) => !isGap)
    if (requireManifest && !isWhole)
      throw new ImageRefusal('image-manifest-required', 'No manifest of the archive names all its files.', {})
    const signer = this.#checkSignature()
    return {
      ...{ digest, sizeBytes: this.#bytes, signer },
      verified: isWhole ? (signer ? 'signature' : 'manifest') : 'none',
      warnings: warnings.map(({ text }) => text),
    }
  }

  async *#counted(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
    for await (const bytes of source) {
      this.#bytes += bytes.length
      this.#whole.update(bytes)
      yield bytes
    }
  }

  async #advance(): Promise<TarEntry | null> {
    for (;;) {
      for await (const _ of this.body());
      const entry = await this.#tar.next()
      this.#open = undefined
      if (!entry) return null
      this.#open = { entry, body: this.#hashed(entry) }
      if (isAppleDouble(entry.name)) continue
      if (/\.mf$/i.test(entry.name)) await this.#keepManifest(entry)
      else if (/\.cert$/i.test(entry.name)) {
        const bytes = await this.text(entry, manifestBytesMost)
        this.#certificate = { name: entry.name, bytes, start: entry.start }
      } else {
        this.#names.push(entry.name)
        return entry
      }
    }
  }

  async *#hashed(entry: TarEntry): AsyncGenerator<Buffer, void> {
    const wanted = this.#manifest ? this.#manifest.files.get(entry.name) : 'unknown'
    const hash = this.#hashes.begin(entry.name, wanted)
    for await (const bytes of this.#tar.body()) {
      hash.add(bytes)
      yield bytes
    }
    hash.end()
    this.#checkHash(entry.name, entry.start)
  }

  async #keepManifest(entry: TarEntry): Promise<void> {
    const bytes = await this.text(entry, manifestBytesMost)
    if (this.#manifest)
      throw new ImageRefusal('image-manifest-invalid', 'The archive has two manifests.', placeOf(entry))
    try {
      const files = readManifest(bytes.toString('utf8'))
      this.#manifest = { name: entry.name, bytes, start: entry.start, files }
    } catch (cause) {
      throw refusedText('image-manifest-invalid', 'The manifest cannot be read', { entry, cause })
    }
    for (const name of this.#names) this.#checkHash(name, null)
  }

  #checkHash(name: string, position: number | null): void {
    const told = this.#manifest?.files.get(name)
    if (!told || !this.#hashes.has(name) || this.#hashes.matches(name, told)) return
    throw new ImageRefusal(
      'image-hash-mismatch',
      `The file does not have the ${told.algorithm} hash in the manifest.`,
      { entry: name, position },
    )
  }

  #checkFiles(): readonly { readonly text: string; readonly isGap: boolean }[] {
    if (!this.#manifest) return [{ text: 'The archive has no manifest.', isGap: true }]
    const { files } = this.#manifest
    const unnamed = this.#names.filter((name) => !files.has(name))
    const absent = [...files.keys()].filter((name) => !this.#hashes.has(name))
    return [
      ...unnamed.map((name) => ({ text: `The manifest does not name ${name}.`, isGap: true })),
      ...absent.map((name) => ({ text: `The manifest names ${name}, which is not there.`, isGap: false })),
    ]
  }

  #checkSignature(): Signer | null {
    const certificate = this.#certificate
    if (!certificate) return null
    const refuse = (cause: unknown) =>
      refusedText('image-signature-invalid', 'The signature is refused', { entry: certificate, cause })
    if (!this.#manifest) throw refuse(new RangeError('there is no manifest that it could sign'))
    try {
      return checkSignature(certificate.bytes.toString('utf8'), this.#manifest)
    } catch (cause) {
      throw refuse(cause)
    }
  }
}

const placeOf = ({ name, start }: { readonly name: string; readonly start: number }) => ({
  entry: name,
  position: start,
})

const refusedText = (
  code: 'image-manifest-invalid' | 'image-signature-invalid',
  what: string,
  { entry, cause }: { entry: { readonly name: string; readonly start: number }; cause: unknown },
): unknown =>
  cause instanceof RangeError
    ? new ImageRefusal(code, `${what}: ${cause.message}.`, { ...placeOf(entry), cause })
    : cause
