import type { InstanceFacts } from '../../../src/domain/inventory/facts.ts'
import type { Queryable } from '../../client.ts'
import { isMigrated } from '../instances/is-migrated.ts'

/** An instance as a candidate of a batch, with what may keep it out. */
export interface BatchCandidate {
  readonly id: string
  readonly source: string
  readonly sourceKind: string
  readonly facts: InstanceFacts
  readonly overrides: Readonly<Record<string, unknown>>
  readonly readiness: string
  readonly findings: readonly { readonly rule: string; readonly evidence: readonly string[] }[]
  readonly gone: boolean
  readonly ignored: string | null
  readonly ignoredDetail: string | null
  /** Matched when the batch was last saved. */
  readonly assigned: boolean
  readonly entryId: string | null
  readonly entryState: string | null
  readonly entryBatch: string | null
  /** A certified copy has replaced it. */
  readonly migrated: boolean
}

/** Every living instance, and those that were when the batch was last saved; ignored ones included, in list order. */
export const listBatchCandidates = async (
  db: Queryable,
  batchId: string,
  page: { readonly after: string | undefined; readonly limit: number },
): Promise<BatchCandidate[]> => db<BatchCandidate[]>`
  select i.id, s.name as source, s.kind as source_kind, i.facts, i.overrides, i.readiness, i.ignored, i.ignored_detail,
    coalesce((select jsonb_agg(jsonb_build_object('rule', f.rule, 'evidence', f.evidence) order by f.rule)
      from finding f where f.instance_id = i.id and not f.waived), '[]'::jsonb) as findings,
    a.instance_id is not null as assigned, i.gone_at is not null as gone,
    e.id as entry_id, e.state as entry_state, b.name as entry_batch, ${isMigrated(db)} as migrated
  from instance i join site s on s.id = i.site_id and s.role = 'source'
    left join batch_instance a on a.batch_id = ${batchId}::uuid and a.instance_id = i.id
    left join entry e on e.instance_id = i.id left join batch b on b.id = e.batch_id
  where (i.gone_at is null or a.instance_id is not null) and ${page.after === undefined ? db`true` : db`i.id > ${page.after}::uuid`}
  order by i.id limit ${page.limit}`
