import type { InstanceFacts } from '../../../src/domain/inventory/facts.ts'
import type { Tx } from '../../client.ts'

/** Records changes of an instance that a batch holds as pending, as a sync does. */
export const keepPending = async (tx: Tx, instanceId: string, facts: InstanceFacts): Promise<void> => {
  await tx`
    update instance set pending = ${JSON.stringify({ type: 'facts', facts })}::text::jsonb,
      pending_since = coalesce(pending_since, now())
    where id = ${instanceId}::uuid and frozen_by is not null`
}
