import type { Tx } from '../../../db/client.ts'
import { freezeInstances, thawInstance } from '../../../db/queries/batches/freeze-instances.ts'
import type { EntryAtWork, EntryChange } from '../../../db/queries/entries/entry-rows.ts'
import { findInstanceById } from '../../../db/queries/instances/find-instance.ts'
import { canonicalJson } from '../../domain/inventory/facts-hash.ts'
import { applyOverrides } from '../../domain/inventory/overrides.ts'
import { endsRunning } from '../../domain/migration/batch/start-batch.ts'
import { type Entering, type EntryWork, writeNote } from '../entry/entry-work.ts'

/**
 * The instance of a blocked entry is still synced and edited, so that the cause of the block can go. It is placed by
 * its current facts, not by those from the time of the block.
 */
export const takeRecord: Entering = async (tx, _batch, entry) => {
  if (entry.state !== 'blocked') return
  const record = await readRecord(tx, entry)
  if (record) await writeNote(tx, entry, record)
}

/**
 * Freezes the record. For a blocked entry, whose instance was not frozen so far, only if the record is still the same
 * as in the placement decision.
 */
export const holdRecord = async (
  tx: Tx,
  { batch, facts }: EntryWork,
  entry: EntryAtWork,
): Promise<boolean> => {
  if (entry.state !== 'blocked') return true
  await freezeInstances(tx, { ids: [entry.instanceId], by: `batch/${batch.row.name}` })
  const record = await readRecord(tx, entry)
  if (record && canonicalJson(record.facts) === canonicalJson(facts)) return true
  await thawInstance(tx, entry.instanceId)
  return false
}

const readRecord = async (
  tx: Tx,
  { instanceId }: EntryAtWork,
): Promise<Required<Pick<EntryChange, 'facts' | 'running'>> | undefined> => {
  const instance = await findInstanceById(tx, instanceId)
  if (!instance) return undefined
  const facts = applyOverrides(instance.facts, instance.overrides)
  return {
    facts: facts as unknown as Record<string, unknown>,
    running: endsRunning(facts.running, instance.overrides),
  }
}
