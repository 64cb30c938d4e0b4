import type { Tx } from '../../../db/client.ts'
import { freezeInstances, thawInstance } from '../../../db/queries/batches/freeze-instances.ts'
import type { EntryAtWork, EntryChange } from '../../../db/queries/entries/entry-rows.ts'
import { findInstanceById } from '../../../db/queries/instances/find-instance.ts'
import { canonicalJson } from '../../domain/inventory/facts-hash.ts'
import { applyOverrides } from '../../domain/inventory/overrides.ts'
import { endsRunning } from '../../domain/migration/batch/start-batch.ts'
import { type Entering, type EntryWork, writeNote } from '../entry/entry-work.ts'

/**
 * The instance of a blocked entry goes on being synced and edited, so that what blocks it can heal: it is placed by
 * what is known of it now, not by what was known when it was blocked.
 */
export const takeRecord: Entering = async (tx, _batch, entry) => {
  if (entry.state !== 'blocked') return
  const record = await readRecord(tx, entry)
  if (record) await writeNote(tx, entry, record)
}

/**
 * From here on the record stands: for a blocked entry, whose instance nobody held so far, only when it still is the one
 * that its place was chosen by.
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
