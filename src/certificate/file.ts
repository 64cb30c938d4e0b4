import { createPublicKey } from 'node:crypto'
import { z } from 'zod'
import { canonicalJson } from '../domain/inventory/facts-hash.ts'
import { DroverError } from '../errors.ts'
import { type CertificateDocument, certificateDocument, contradictions } from './document.ts'
import { isSignedBy, keyIdOf } from './signing.ts'

const hex = z.string().regex(/^(?:[0-9a-f]{2})+$/)

const certificateFile = z.strictObject({
  certificate: certificateDocument,
  /** Hexadecimal: it has one way of being written, so that no byte of a file can change unseen. */
  public_key: hex,
  signature: hex,
})

/** A certificate as it is downloaded: one line of JSON that has everything needed to check it. */
export const certificateText = (kept: {
  readonly document: CertificateDocument
  readonly signature: Buffer
  readonly publicKey: Buffer
}): string =>
  `${canonicalJson({
    certificate: kept.document,
    public_key: kept.publicKey.toString('hex'),
    signature: kept.signature.toString('hex'),
  })}\n`

export type CertificateVerdict =
  | { readonly sound: true; readonly certificate: CertificateDocument; readonly pinned: boolean }
  | { readonly sound: false; readonly problems: readonly string[] }

/**
 * Checks a file without asking anybody. Without a key of the reader's own (`pem`) it says only that the file is as it
 * was signed, not by whom.
 */
export const verifyCertificate = (text: string, pem?: string): CertificateVerdict => {
  const parsed = parse(text)
  if (!parsed.ok) return { sound: false, problems: [parsed.problem] }
  const { certificate, public_key, signature } = parsed.file
  const publicKey = Buffer.from(public_key, 'hex')
  const pinned = pem === undefined ? undefined : derOf(pem)
  const problems = [
    ...(text === `${canonicalJson(parsed.file)}\n`
      ? []
      : ['It is not written as it was signed: something was changed, added or reordered.']),
    ...(keyIdOf(publicKey) === certificate.key_id ? [] : ['Its key is not the one that it names.']),
    ...(pinned === undefined || pinned.equals(publicKey)
      ? []
      : [`It was signed with ${keyIdOf(publicKey)}, not with the key that you gave (${keyIdOf(pinned)}).`]),
    ...(isSigned(certificate, Buffer.from(signature, 'hex'), publicKey)
      ? []
      : ['Its signature does not fit: it was changed, or signed with another key.']),
    ...contradictions(certificate),
  ]
  return problems.length === 0
    ? { sound: true, certificate, pinned: pinned !== undefined }
    : { sound: false, problems }
}

const parse = (
  text: string,
): { ok: true; file: z.infer<typeof certificateFile> } | { ok: false; problem: string } => {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return { ok: false, problem: 'It is not JSON.' }
  }
  const parsed = certificateFile.safeParse(json)
  if (parsed.success) return { ok: true, file: parsed.data }
  return { ok: false, problem: `It is not a certificate of this version: ${wrongPart(parsed.error)}.` }
}

const wrongPart = ({ issues: [issue] }: z.ZodError): string => {
  if (issue?.code === 'unrecognized_keys') return `nobody knows what "${issue.keys[0]}" is`
  if (!issue || issue.path.length === 0) return 'it is no certificate with its signature'
  return `its "${issue.path.join('.')}" is missing, or not what belongs there`
}

/** A key that is none is no reason to stop: the file is just not sound. */
const isSigned = (document: CertificateDocument, signature: Buffer, publicKey: Buffer): boolean => {
  try {
    return isSignedBy(document, signature, publicKey)
  } catch {
    return false
  }
}

const derOf = (pem: string): Buffer => {
  try {
    const key = createPublicKey(pem)
    if (key.asymmetricKeyType === 'ed25519') return key.export({ type: 'spki', format: 'der' })
  } catch {
    // Said below, with what to do.
  }
  throw new DroverError({
    code: 'signing-key-invalid',
    class: 'config',
    message: 'That is not a public Ed25519 key in PEM form.',
    remedy: 'Save it with: drover signing-keys --pem',
    field: 'key',
  })
}
