import { v7 as uuidv7 } from 'uuid'
import type { Tx } from '../../../db/client.ts'
import { insertCertificate } from '../../../db/queries/copies/insert-certificate.ts'
import { readEntryPeople } from '../../../db/queries/entries/entry-people.ts'
import type { EntryAtWork } from '../../../db/queries/entries/entry-rows.ts'
import { insertEntryHistory } from '../../../db/queries/entries/insert-entry-history.ts'
import { handOverMachine, lockMachinesAt } from '../../../db/queries/machines/machine-rows.ts'
import type { CertificateDocument } from '../../certificate/document.ts'
import { installationKey } from '../../certificate/installation-key.ts'
import { signCertificate } from '../../certificate/signing.ts'
import type { InstanceFacts } from '../../domain/inventory/facts.ts'
import type { EffectiveFacts } from '../../domain/inventory/overrides.ts'
import type { Reason } from '../../domain/migration/entry/entry-facts.ts'
import type { VerifyCheck } from '../../domain/migration/verify/verify-guest.ts'
import { utcText } from '../../domain/text/utc-text.ts'
import { mergeWarnings } from '../../inventory/connection/warnings.ts'
import { installationId } from '../../ledger/installation.ts'
import { actorOf, type DomainChange } from '../../ledger/job.ts'
import { storableJson } from '../../storable.ts'
import { extentBytes } from '../copy/extent-map.ts'
import { moveEntry } from '../entry/apply-entry.ts'
import { leaveEntryWork, machineOf, movedOn, placementOf } from '../entry/entry-work.ts'
import type { ProvedDisk } from './prove-disks.ts'
import { settleStarts } from './start-target.ts'
import type { VerifyTask } from './verify-task.ts'

/** All that speaks for an entry. */
export interface Evidence {
  readonly checks: readonly VerifyCheck[]
  readonly disks: readonly ProvedDisk[]
  /** What the target says of the machine. */
  readonly machine: InstanceFacts
  /** What force set aside. */
  readonly ignored: readonly Reason[]
  /** The record as it was adopted; undefined: it stays. */
  readonly record: { readonly facts: EffectiveFacts; readonly placement: object } | undefined
}

/** The certificate and the finish: both are committed with the job's outcome, or neither. */
export const finishEntry = (task: VerifyTask, certificateId: string, evidence: Evidence): DomainChange =>
  leaveEntryWork(task.entryWork, async (tx, entry) => {
    const key = await installationKey(tx, task.parts.sealer)
    const document = await documentOf(tx, task, { id: certificateId, keyId: key.id, entry, evidence })
    await insertCertificate(tx, {
      id: certificateId,
      entryId: entry.id,
      instanceId: entry.instanceId,
      batchName: document.batch,
      instanceName: document.instance.name,
      document,
      signature: signCertificate(document, key),
      keyId: key.id,
    })
    await settleStarts(tx, task.entryWork)
    const { record, disks } = evidence
    await moveEntry(tx, task.entryWork.batch.row, entry, {
      event: 'verified',
      reason: { code: 'verified', message: `Verified; the certificate is ${certificateId}.` },
      by: actorOf(task.entryWork.ctx),
      change: {
        certificateId,
        finishedAt: entry.now,
        pending: null,
        reasons: [],
        error: null,
        ...(record
          ? {
              facts: record.facts as unknown as Record<string, unknown>,
              placement: record.placement as Record<string, unknown>,
            }
          : {}),
      },
    })
    await handOver(tx, task, { entry, machine: evidence.machine })
    await insertEntryHistory(tx, {
      sourceId: entry.sourceId,
      targetId: task.entryWork.target?.id ?? entry.sourceId,
      phase: 'final-verify',
      bytes: disks.reduce((sum, { row }) => sum + row.capacity, 0),
      tookMs: Math.max(0, entry.now.getTime() - entry.since.getTime()),
    })
  })

/** A sync may have seen the machine before: whoever writes of it has its row first. */
export const lockMachine =
  ({ entryWork }: VerifyTask): DomainChange =>
  (tx) =>
    lockMachinesAt(tx, {
      targetId: entryWork.target?.id ?? entryWork.source.id,
      refs: [machineOf(entryWork)],
    })

/** What was migrated is operated from now on. */
const handOver = async (
  tx: Tx,
  { entryWork, overrides }: VerifyTask,
  { entry, machine }: { readonly entry: EntryAtWork; readonly machine: InstanceFacts },
): Promise<void> => {
  if (!entryWork.target) throw movedOn(entry.id)
  const { name, uuid, host, cpus, memory, power_state: power } = machine
  const project = machine.resource_pool || placementOf(entryWork).project
  const made = { targetId: entryWork.target.id, ref: machineOf(entryWork), entryId: entry.id }
  const batch = entryWork.batch.row.name
  const actor = actorOf(entryWork.ctx)
  const seen = { name, uuid, project, host, power, cpus, memory }
  const id = await handOverMachine(tx, { ...made, instanceId: entry.instanceId, batch, seen }, actor)
  // What was off already is not switched off, and of what a person wants off they need not be told.
  if (entry.running || entry.sourceStoppedAt === null || overrides.stopped_after === true) return
  const text = `${name} ran at ${entryWork.source.name} when it was switched off for its migration at ${utcText(entry.sourceStoppedAt.getTime())}, and is off at ${entryWork.target.name}: it was off when batch ${batch} took it in. Start it if it is to run.`
  const place = { entityType: 'machine', entityId: id, entityName: name }
  await mergeWarnings(tx, place, { types: ['left-off'], said: { 'left-off': [text] }, actor })
}

export const newCertificateId = (): string => uuidv7()

const documentOf = async (
  tx: Tx,
  task: VerifyTask,
  given: {
    readonly id: string
    readonly keyId: string
    readonly entry: EntryAtWork
    readonly evidence: Evidence
  },
): Promise<CertificateDocument> => {
  const { entryWork } = task
  const { source, target, batch, ctx } = entryWork
  const { entry, evidence } = given
  const facts = evidence.record?.facts ?? entryWork.facts
  const labels = new Map(facts.disks.map(({ key, label }) => [key, label]))
  const document: CertificateDocument = {
    format: 'drover-certificate',
    version: 1,
    id: given.id,
    installation: await installationId(tx),
    key_id: given.keyId,
    batch: batch.row.name,
    entry_id: entry.id,
    instance: { id: entry.instanceId, uuid: facts.uuid, name: facts.name },
    source: { name: source.name, kind: source.kind, machine: facts.ref },
    target: {
      name: target?.name ?? '',
      kind: target?.kind ?? '',
      project: placementOf(entryWork).project,
      machine: machineOf(entryWork),
      machine_name: evidence.machine.name,
    },
    source_stopped_at: entry.sourceStoppedAt?.toISOString() ?? null,
    ...(entry.sourceOffAt ? { source_off_at: entry.sourceOffAt.toISOString() } : {}),
    verified_at: entry.now.toISOString(),
    extent_bytes: extentBytes,
    disks: evidence.disks.map(({ row, proof }) => ({
      disk: row.disk,
      label: labels.get(row.disk) ?? '',
      capacity: row.capacity,
      extents: Math.ceil(row.capacity / extentBytes),
      copied: proof.copied,
      source_digest: proof.source,
      target_digest: proof.target,
      read_back_at: proof.read_at,
    })),
    checks: [...evidence.checks],
    ignored: [...evidence.ignored],
    forced: task.force,
    overrides: { ...task.overrides },
    by: actorOf(ctx),
    people: await peopleOf(tx, task),
  }
  // What is signed is what is stored: Postgres takes neither NUL characters nor halves of a pair.
  return JSON.parse(storableJson(document)) as CertificateDocument
}

/** Whoever is asked later why it was let through. A force that nobody has set since is that of who defined the batch. */
const peopleOf = async (
  tx: Tx,
  { entryWork, force }: VerifyTask,
): Promise<NonNullable<CertificateDocument['people']>> => {
  const { row } = entryWork.batch
  const asked = { entryId: entryWork.entry.id, batch: row.name, batchCreatedAt: row.createdAt }
  const found = (await readEntryPeople(tx, asked)).filter(({ did }) => force || did !== 'forced')
  const defined = { did: 'forced' as const, by: row.createdBy, at: row.createdAt }
  const all = force && found.every(({ did }) => did !== 'forced') ? [...found, defined] : found
  return all
    .toSorted((a, b) => a.at.getTime() - b.at.getTime())
    .map(({ did, by, at }) => ({ did, by, at: at.toISOString() }))
}
