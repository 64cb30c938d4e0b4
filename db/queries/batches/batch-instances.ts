import type { InstanceFacts } from '../../../src/domain/inventory/facts.ts'
import type { EntryState } from '../../../src/domain/migration/entry/entry.ts'
import { entryTable } from '../../../src/domain/migration/entry/entry-table.ts'
import { requireStart } from '../../../src/domain/table/state-table.ts'
import type { Queryable, Tx } from '../../client.ts'
import { isMigrated } from '../instances/is-migrated.ts'
import { openJobAbout } from '../jobs/open-job-about.ts'

/** An instance as a batch evaluates it. */
export interface CandidateLine {
  readonly id: string
  readonly siteId: string
  readonly source: string
  readonly sourceKind: string
  readonly revision: number
  /** The revision of its last change, and the number of changes to its overrides. */
  readonly changedIn: number
  readonly version: number
  readonly facts: InstanceFacts
  readonly overrides: Readonly<Record<string, unknown>>
  readonly readiness: 'ready' | 'warning' | 'blocked'
  readonly gone: boolean
  readonly ignored: string | null
  /** Its findings with their evidence, without waived ones. */
  readonly findings: readonly { readonly rule: string; readonly evidence: readonly string[] }[]
  /** Matched when the batch was last saved. */
  readonly assigned: boolean
  /** The batch of its entry. */
  readonly entryBatch: string | null
  /** A certified copy has replaced it. */
  readonly migrated: boolean
}

/**
 * Every living instance that counts, and those that did when the batch was last saved, in pages that stay stable
 * during a sync.
 */
export const listCandidates = async (
  db: Queryable,
  batchId: string,
  page: { readonly after: string | null; readonly limit: number },
): Promise<CandidateLine[]> => db<CandidateLine[]>`
  select i.id, i.site_id, s.name as source, s.kind as source_kind, s.revision, i.revision as changed_in, i.version,
    i.facts, i.overrides, i.readiness,
    i.gone_at is not null as gone, i.ignored,
    coalesce((select jsonb_agg(jsonb_build_object('rule', f.rule, 'evidence', f.evidence) order by f.rule)
      from finding f where f.instance_id = i.id and not f.waived), '[]'::jsonb) as findings,
    a.instance_id is not null as assigned, b.name as entry_batch,
    ${isMigrated(db)} as migrated
  from instance i join site s on s.id = i.site_id and s.role = 'source'
    left join batch_instance a on a.batch_id = ${batchId}::uuid and a.instance_id = i.id
    left join entry e on e.instance_id = i.id left join batch b on b.id = e.batch_id
  where ${page.after === null ? db`true` : db`i.id > ${page.after}::uuid`}
    and ((i.gone_at is null and i.ignored is null) or a.instance_id is not null)
  order by i.id limit ${page.limit}`

/** Records the matching instances of a page; the page reaches up to `upTo`. */
export const assignPage = async (
  tx: Tx,
  page: {
    readonly batchId: string
    readonly after: string | null
    readonly upTo: string
    readonly matching: readonly string[]
  },
): Promise<void> => {
  await tx`
    with gone as (
      delete from batch_instance where batch_id = ${page.batchId}::uuid and instance_id <= ${page.upTo}::uuid
        and ${page.after === null ? tx`true` : tx`instance_id > ${page.after}::uuid`}
        and not instance_id = any(${page.matching as string[]}::uuid[])
    )
    insert into batch_instance (batch_id, instance_id)
    select ${page.batchId}::uuid, id from unnest(${page.matching as string[]}::uuid[]) as m(id) on conflict do nothing`
}

/** The instances whose record is still as it was read, locked until the transaction ends. */
export const holdUnchanged = async (
  tx: Tx,
  lines: readonly Pick<CandidateLine, 'id' | 'changedIn' | 'version'>[],
): Promise<ReadonlySet<string>> => {
  const rows = await tx<{ id: string }[]>`
    select i.id from unnest(${lines.map(({ id }) => id)}::uuid[], ${lines.map(({ changedIn }) => changedIn)}::bigint[],
        ${lines.map(({ version }) => version)}::int[]) as seen(id, revision, version)
      join instance i on i.id = seen.id and i.revision = seen.revision and i.version = seen.version
    order by i.id for no key update of i`
  return new Set(rows.map(({ id }) => id))
}

export interface EntryInsert {
  readonly id: string
  readonly instanceId: string
  readonly sourceId: string
  readonly state: EntryState
  readonly reason: string
  readonly message: string
  readonly reasons: readonly Readonly<Record<string, unknown>>[]
  readonly revision: number
  readonly facts: Readonly<Record<string, unknown>>
  readonly running: boolean
  readonly force: boolean
}

export interface MadeEntry {
  readonly id: string
  readonly instanceId: string
  readonly state: string
  /** A job is switching its instance on or off. */
  readonly busy: boolean
}

/**
 * Makes entries, and freezes the instances of those that may go on: syncs record their changes as pending from now on.
 * Skips an instance that another batch has taken. Returns the entries made.
 */
export const insertEntries = async (
  tx: Tx,
  batch: { readonly id: string; readonly name: string; readonly by: string },
  entries: readonly EntryInsert[],
): Promise<MadeEntry[]> => {
  for (const { state } of entries) requireStart(entryTable, state)
  return tx<MadeEntry[]>`
    with input as (
      select * from jsonb_to_recordset(${tx.json(entries as never)}) as e(id uuid, "instanceId" uuid, "sourceId" uuid,
        state text, reason text, message text, reasons jsonb, revision bigint, facts jsonb, running boolean, force boolean)
    ), made as (
      insert into entry (id, batch_id, instance_id, source_id, state, stage, reason, message, reasons, revision, facts,
        running, force)
      select id, ${batch.id}::uuid, "instanceId", "sourceId", state, 'background', reason, message, reasons, revision,
        facts, running, force
      from input on conflict (instance_id) do nothing
      returning id, instance_id, state, message, reason
    ), frozen as (
      update instance i set frozen_by = ${`batch/${batch.name}`} from made m
      where i.id = m.instance_id and m.state = 'waiting' and i.frozen_by is null
    ), told as (
      insert into event (type, subject_type, subject_id, actor, to_state, reason, detail)
      select told.type, 'entry', id, ${batch.by}, state, message, jsonb_build_object('code', reason,
        'stage', 'background', 'batch_id', ${batch.id}::text, 'instance_id', instance_id)
      from made cross join lateral (values (1, 'entry.created'),
        -- Who waits for conflicts and blocks hears of those that a start begins with, too.
        (2, case state when 'conflict' then 'entry.conflict' when 'blocked' then 'entry.block' end)) told(nth, type)
      where told.type is not null order by id, told.nth
    )
    select id, instance_id, state, ${openJobAbout(tx, 'instance', tx`made.instance_id::text`)} as busy from made`
}

export const setBatchMessage = async (
  tx: Tx,
  batch: { readonly id: string; readonly message: string },
): Promise<void> => {
  await tx`update batch set message = ${batch.message}, updated_at = now() where id = ${batch.id}::uuid`
}
