import { storableJson, storableText } from '../../../src/storable.ts'
import type { Queryable } from '../../client.ts'

export interface AuditEvent {
  readonly type: string
  readonly subject: { readonly type: string; readonly id: string }
  readonly actor: string
  readonly from?: string
  readonly to?: string
  readonly reason?: string
  readonly detail?: Readonly<Record<string, unknown>>
}

/** Records what a person or program did, in the same transaction. */
export const insertAuditEvent = async (tx: Queryable, event: AuditEvent): Promise<void> => {
  await tx`
    insert into event (type, subject_type, subject_id, actor, from_state, to_state, reason, detail)
    values (${event.type}, ${event.subject.type}, ${event.subject.id}, ${event.actor}, ${event.from ?? null},
      ${event.to ?? null}, ${event.reason === undefined ? null : storableText(event.reason)},
      ${event.detail === undefined ? null : storableJson(event.detail)}::text::jsonb)`
}
