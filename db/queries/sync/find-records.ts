import type { InstanceFacts } from '../../../src/domain/inventory/facts.ts'
import type { Pending } from '../../../src/domain/inventory/merge.ts'
import type { TrackingRecord } from '../../../src/domain/inventory/tracking.ts'
import type { Queryable } from '../../client.ts'

/** The parts of an instance that tell whether a reading has changes. */
export interface InstanceMark {
  readonly id: string
  readonly ref: string
  readonly uuid: string
  readonly hash: string
  readonly gone: boolean
  readonly frozen: boolean
  readonly hasPending: boolean
  readonly base: string
}

/** Instances of a site by the platform's id, a live one before tombstones, and those with one of these UUIDs. */
export const findInstanceMarks = async (
  db: Queryable,
  siteId: string,
  seen: { readonly refs: readonly string[]; readonly uuids: readonly string[] },
): Promise<InstanceMark[]> => db<InstanceMark[]>`
  select id, ref, uuid, hash, gone_at is not null as gone, frozen_by is not null as frozen,
    pending is not null as has_pending, xmin::text as base
  from instance where site_id = ${siteId}::uuid and ref = any(${seen.refs as string[]}::text[])
  union
  select id, ref, uuid, hash, gone_at is not null, frozen_by is not null, pending is not null, xmin::text
  from instance where uuid = any(${seen.uuids as string[]}::text[]) and site_id = ${siteId}::uuid`

export interface InstanceRecord {
  readonly id: string
  readonly facts: InstanceFacts
  readonly tracking: TrackingRecord
  readonly pending: Pending | null
  readonly gone: boolean
  readonly frozen: boolean
  readonly base: string
}

export const loadInstanceRecords = async (
  db: Queryable,
  ids: readonly string[],
): Promise<InstanceRecord[]> => db<InstanceRecord[]>`
  select id, facts, tracking, pending, gone_at is not null as gone, frozen_by is not null as frozen,
    xmin::text as base
  from instance where id = any(${ids as string[]}::uuid[])`

export const recordTables = ['network', 'host', 'storage', 'project'] as const
export type RecordTable = (typeof recordTables)[number]

export interface RecordMark {
  readonly id: string
  readonly ref: string
  readonly hash: string
  readonly gone: boolean
  readonly facts: Record<string, unknown>
}

/** Networks, hosts and the like by the platform's id; a live one comes last, so that it wins in a map. */
export const findRecordMarks = async (
  db: Queryable,
  table: RecordTable,
  siteId: string,
  refs: readonly string[],
): Promise<RecordMark[]> => db<RecordMark[]>`
  select id, ref, hash, gone_at is not null as gone, facts from ${db(table)}
  where site_id = ${siteId}::uuid and ref = any(${refs as string[]}::text[])
  order by (gone_at is null), gone_at`
