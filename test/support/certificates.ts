import type { CertificateDocument } from '../../src/certificate/document.ts'
import { certificateText } from '../../src/certificate/file.ts'
import { makeSigningPair, type SigningPair, signCertificate } from '../../src/certificate/signing.ts'

const digest = 'ab'.repeat(32)

/** A certificate that says nothing wrong. */
export const sampleCertificate = (
  key: Pick<SigningPair, 'id'>,
  changes: Partial<CertificateDocument> = {},
): CertificateDocument => ({
  format: 'drover-certificate',
  version: 1,
  id: '0197a0c0-0000-7000-8000-000000000001',
  installation: '0197a0c0-0000-7000-8000-000000000002',
  key_id: key.id,
  batch: 'wave-1',
  entry_id: '0197a0c0-0000-7000-8000-000000000003',
  instance: { id: '0197a0c0-0000-7000-8000-000000000004', uuid: '42', name: 'wéb "01"' },
  source: { name: 'paris', kind: 'lab', machine: 'vm-101' },
  target: { name: 'cloud', kind: 'lab', project: 'default', machine: 'vm-9', machine_name: 'web-01' },
  source_stopped_at: '2026-03-01T10:00:00.000Z',
  source_off_at: '2026-03-01T10:01:00.000Z',
  verified_at: '2026-03-01T10:20:00.000Z',
  extent_bytes: 4_194_304,
  disks: [
    {
      disk: '2000',
      label: 'Hard disk 1',
      capacity: 10_000_000,
      extents: 3,
      copied: 2,
      source_digest: digest,
      target_digest: digest,
      read_back_at: '2026-03-01T10:15:00.000Z',
    },
  ],
  checks: [
    { name: 'source-power', expected: 'off', observed: 'off', result: 'passed' },
    { name: 'disk-2000', expected: digest, observed: digest, result: 'passed' },
    { name: 'agent', expected: 'running', observed: 'running', result: 'passed' },
  ],
  ignored: [],
  forced: false,
  overrides: { comment: 'agreed' },
  by: 'job/1',
  people: [{ did: 'started', by: 'ada', at: '2026-03-01T09:00:00.000Z' }],
  ...changes,
})

/** The same as a file, with the key that signed it. */
export const sampleFile = (changes: Partial<CertificateDocument> = {}, key = makeSigningPair()) => {
  const document = sampleCertificate(key, changes)
  const signature = signCertificate(document, key)
  return { key, document, text: certificateText({ document, signature, publicKey: key.publicKey }) }
}
