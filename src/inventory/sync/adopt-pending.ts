import type { Tx } from '../../../db/client.ts'
import { findSiteName } from '../../../db/queries/sites/load-site.ts'
import { adoptRecord } from '../../../db/queries/sync/adopt-record.ts'
import type { InstanceRow } from '../../../db/schema/inventory.ts'
import type { InstanceFacts } from '../../domain/inventory/facts.ts'
import { carryTracking } from '../../domain/inventory/tracking.ts'
import { reassess } from '../judge/assess.ts'
import { derivedColumns } from '../judge/decide-instances.ts'
import { proveTracking } from '../judge/prove-tracking.ts'
import { writeFacts } from '../judge/stage-line.ts'

/**
 * Adopts the pending facts of an instance as its record, and judges it. The recorded power state stays, because the
 * machine may be off because of Drover. Returns the facts that count now.
 */
export const adoptPending = async (tx: Tx, instance: InstanceRow): Promise<InstanceFacts> => {
  const { id, pending, facts: before } = instance
  const source = pending?.type === 'facts' ? await findSiteName(tx, instance.siteId) : undefined
  if (pending?.type !== 'facts' || source === undefined) return before
  const { power_state, running } = before
  const facts = { ...pending.facts, power_state, running }
  const { text: factsText, hash } = writeFacts(facts)
  const tracking = proveTracking(facts, carryTracking(instance.tracking, before, facts))
  const name = facts.name
  await adoptRecord(tx, { id, name, factsText, hash, tracking, ...derivedColumns(source, facts) })
  await reassess(tx, { instanceIds: [id] })
  return facts
}
