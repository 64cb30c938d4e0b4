import type { InstanceFacts } from '../../../src/domain/inventory/facts.ts'
import type { Tx } from '../../client.ts'

/** What was seen of an instance that a batch holds, apart from its record: as a sync keeps it. */
export const keepPending = async (tx: Tx, instanceId: string, facts: InstanceFacts): Promise<void> => {
  await tx`
    update instance set pending = ${JSON.stringify({ type: 'facts', facts })}::text::jsonb,
      pending_since = coalesce(pending_since, now())
    where id = ${instanceId}::uuid and frozen_by is not null`
}
