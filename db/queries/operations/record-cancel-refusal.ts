import { storableText } from '../../../src/storable.ts'
import type { Queryable } from '../../client.ts'

/** A refused request to cancel an operation. */
export interface CancelRefusal {
  readonly operationId: string
  /** `past-return`, `operation-ended`. */
  readonly reason: string
  readonly message: string
  readonly askedBy: string
}

/** Counts it, with an event at most once a minute for the same request by the same person. */
export const recordCancelRefusalRow = async (db: Queryable, refusal: CancelRefusal): Promise<void> => {
  const { operationId, reason, message, askedBy } = refusal
  await db`
    with asked as (
      select * from operation where id = ${operationId}::uuid
    ), ended as (
      insert into operation_end (kind, force, outcome, reason) select kind, force, 'cancel-refused', ${reason} from asked
    )
    insert into event (type, subject_type, subject_id, actor, reason, detail)
    select 'operation.cancel-refused', 'operation', id, ${askedBy}, ${storableText(message)},
      jsonb_build_object('machine', machine_id, 'kind', kind, 'force', force, 'cause', cause, 'reason', ${reason}::text)
    from asked where not exists (
      select from event told where told.subject_type = 'operation' and told.subject_id = asked.id::text
        and told.job_id is null and told.type = 'operation.cancel-refused' and told.actor = ${askedBy}
        and told.detail ->> 'reason' = ${reason} and told.at > now() - interval '1 minute')`
}
