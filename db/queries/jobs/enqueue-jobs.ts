import type { Tx } from '../../client.ts'
import type { JobRow } from '../../schema/job.ts'

export type JobInsert = Pick<
  JobRow,
  | ('id' | 'kind' | 'subjectType' | 'subjectId' | 'idempotencyKey' | 'payloadVersion' | 'priority' | 'lane')
  | ('deadline' | 'trace' | 'createdBy')
> & { readonly payload: string; readonly runAfterMs: number; readonly tokens: readonly string[] }

/**
 * Inserts jobs and their `job.created` events in the caller's transaction, in one statement however many. Returns the
 * new ids; the idempotency keys of the others were taken.
 */
export const enqueueJobs = async (tx: Tx, jobs: readonly JobInsert[]): Promise<ReadonlySet<string>> => {
  const rows = await tx<{ id: string }[]>`
    with input as (
      select * from unnest(
        ${jobs.map((j) => j.id)}::uuid[], ${jobs.map((j) => j.kind)}::text[],
        ${jobs.map((j) => j.subjectType)}::text[], ${jobs.map((j) => j.subjectId)}::text[],
        ${jobs.map((j) => j.idempotencyKey)}::text[], ${jobs.map((j) => j.payload)}::text[],
        ${jobs.map((j) => j.payloadVersion)}::smallint[], ${jobs.map((j) => j.priority)}::smallint[],
        ${jobs.map((j) => j.lane)}::text[], ${jobs.map((j) => j.runAfterMs)}::float8[],
        ${jobs.map((j) => j.deadline?.toISOString() ?? null)}::timestamptz[], ${jobs.map((j) => j.tokens.join(' '))}::text[],
        ${jobs.map((j) => j.trace)}::text[], ${jobs.map((j) => j.createdBy)}::text[]
      ) as i(id, kind, subject_type, subject_id, idempotency_key, payload, payload_version, priority, lane,
             run_after_ms, deadline, tokens, trace, created_by)
    ), inserted as (
      insert into job (id, kind, subject_type, subject_id, idempotency_key, payload, payload_version, bell,
                       priority, lane, run_after, deadline, tokens, trace, created_by)
      select id, kind, subject_type, subject_id, idempotency_key, payload::jsonb, payload_version,
             case when run_after_ms > 0 then 'held' else 'due' end, priority, lane,
             now() + run_after_ms * interval '1 millisecond', deadline, string_to_array(tokens, ' '), trace,
             created_by
      from input
      on conflict (idempotency_key) where idempotency_key is not null do nothing
      returning id, kind, lane, subject_type, subject_id, created_by
    ), found_by as (
      insert into job_search (job_id, kind, lane, subject_type, subject_id)
      select id, kind, lane, subject_type, subject_id from inserted
    ), told as (
      insert into event (type, subject_type, subject_id, job_id, actor, to_state)
      select 'job.created', subject_type, subject_id, id, created_by, 'ready' from inserted
    )
    select id from inserted`
  return new Set(rows.map((row) => row.id))
}
