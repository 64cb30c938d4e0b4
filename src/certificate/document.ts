import { z } from 'zod'

const instant = z.iso.datetime({ offset: true })
const sha256 = z.string().regex(/^[0-9a-f]{64}$/)

const diskEvidence = z.strictObject({
  disk: z.string(),
  label: z.string(),
  /** Bytes. */
  capacity: z.int().min(0),
  /** How many extents the disk has; all of them are in the digests. */
  extents: z.int().min(0),
  /** Of those, how many were copied; the rest reads as zeros on both sides. */
  copied: z.int().min(0),
  /** SHA-256 over the SHA-256 of every extent, in order. */
  source_digest: sha256,
  target_digest: sha256,
  read_back_at: instant,
})

const check = z.strictObject({
  name: z.string(),
  expected: z.string(),
  observed: z.string(),
  result: z.enum(['passed', 'failed', 'differs', 'not-asked']),
  /** Names of the batch's probes that ask it. */
  probes: z.array(z.string()).readonly().optional(),
})

const ignored = z.strictObject({ code: z.string(), message: z.string() })

/** `forced`: saved the defaults that say `force_conflict_resolution`. */
const decision = z.strictObject({
  did: z.enum(['approved', 'started', 'resolved', 'retried', 'forced']),
  by: z.string(),
  at: instant,
})

/** The evidence that a migrated machine is what its source was. Numbers are whole, times are UTC. */
export const certificateDocument = z.strictObject({
  format: z.literal('drover-certificate'),
  version: z.literal(1),
  id: z.uuid(),
  installation: z.string(),
  key_id: z.string(),
  batch: z.string(),
  entry_id: z.uuid(),
  instance: z.strictObject({ id: z.uuid(), uuid: z.string(), name: z.string() }),
  source: z.strictObject({ name: z.string(), kind: z.string(), machine: z.string() }),
  target: z.strictObject({
    name: z.string(),
    kind: z.string(),
    project: z.string(),
    machine: z.string(),
    machine_name: z.string(),
  }),
  /** When the source was first asked to go off for good; null: it was off already. */
  source_stopped_at: instant.nullable(),
  /** When it was seen off, the last time; older certificates have none, nor those of a source that was off already. */
  source_off_at: instant.optional(),
  verified_at: instant,
  extent_bytes: z.int().min(1),
  disks: z.array(diskEvidence),
  checks: z.array(check).min(1),
  /** What was allowed by force although it speaks against it. */
  ignored: z.array(ignored),
  forced: z.boolean(),
  /** What a person had set for this instance. */
  overrides: z.record(z.string(), z.unknown()),
  /** The job that verified. */
  by: z.string(),
  /** Who decided what on the way, the last time each; older certificates have none. */
  people: z.array(decision).optional(),
})

export type CertificateDocument = z.infer<typeof certificateDocument>

/** What a sound certificate cannot say, whoever signed it; empty: nothing. */
export const contradictions = (document: CertificateDocument): string[] => {
  const { disks, checks, forced, ignored: allowed, extent_bytes: extentBytes } = document
  const failed = checks.filter(({ result }) => result === 'failed')
  return [
    ...disks.flatMap((disk) => [
      ...(disk.source_digest === disk.target_digest
        ? []
        : [`Disk ${disk.disk}: the digests of source and target are not the same.`]),
      ...(disk.extents === Math.ceil(disk.capacity / extentBytes)
        ? []
        : [`Disk ${disk.disk}: ${disk.extents} extents do not make ${disk.capacity} bytes.`]),
      ...(disk.copied <= disk.extents ? [] : [`Disk ${disk.disk}: more was copied than there is.`]),
      ...(checks.some(({ name, result }) => name === `disk-${disk.disk}` && result === 'passed')
        ? []
        : [`Disk ${disk.disk}: no check says that it is the same.`]),
    ]),
    ...(new Set(disks.map(({ disk }) => disk)).size === disks.length ? [] : ['A disk is named twice.']),
    ...(forced || (failed.length === 0 && allowed.length === 0)
      ? []
      : ['It holds what only force allows, and says that there was none.']),
    ...(failed.some(({ name }) => !mayBeForced(name)) ? ['A check failed that no force can set aside.'] : []),
  ]
}

/** Bytes, the source's rest and the identity are never a matter of opinion. */
export const mayBeForced = (check: string): boolean => check === 'agent' || check.startsWith('port-')
