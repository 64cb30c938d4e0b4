import { storableJson } from '../../../src/storable.ts'
import type { Tx } from '../../client.ts'

/** Spreads sites that were made at the same time over a fifth of their interval, each to a fixed place. */
const jitter = `(0.9 + 0.2 * ((hashtextextended(id::text, extract(epoch from now())::bigint / 3600) & 1023) / 1023.0))`

export interface SyncEnd {
  readonly siteId: string
  readonly full: boolean
  readonly changed: boolean
  /** Sealed; null: the next one is full. */
  readonly cursor: Buffer | null
  readonly result: Readonly<Record<string, unknown>>
  /** 0: only by hand. */
  readonly intervalSeconds: number
}

/** The site after a complete sync. */
export const endSync = async (tx: Tx, end: SyncEnd): Promise<void> => {
  const { full, intervalSeconds } = end
  await tx`
    update site set revision = revision + ${end.changed ? 1 : 0}, cursor = ${end.cursor}, synced_at = now(),
      full_synced_at = case when ${full} then now() else full_synced_at end,
      sync_error = null, sync_failures = 0, sync_result = ${storableJson(end.result)}::text::jsonb,
      next_sync_at = case when ${intervalSeconds} > 0
        then now() + ${intervalSeconds} * interval '1 second' * ${tx.unsafe(jitter)} else 'infinity' end
    where id = ${end.siteId}::uuid`
}

export interface SyncFailure {
  readonly siteId: string
  /** JSON text. */
  readonly error: string
  /** The next sync is full. */
  readonly forgetCursor: boolean
  readonly intervalSeconds: number
  /** The site itself cannot be reached: check its connection now. */
  readonly checkNow: boolean
}

const longestPauseSeconds = 3_600

/** The site after a failed sync: its inventory stays. Each failure in a row doubles the pause, up to an hour. */
export const failSync = async (tx: Tx, failure: SyncFailure): Promise<void> => {
  const { intervalSeconds } = failure
  await tx`
    update site set sync_error = ${failure.error}::text::jsonb, sync_failures = sync_failures + 1,
      cursor = case when ${failure.forgetCursor} then null else cursor end,
      next_check_at = case when ${failure.checkNow} then now() else next_check_at end,
      next_sync_at = case when ${intervalSeconds} > 0
        then now() + least(${intervalSeconds}::float8 * power(2, least(sync_failures, 10)),
               greatest(${intervalSeconds}::float8, ${longestPauseSeconds}::float8)) * interval '1 second' * ${tx.unsafe(jitter)}
        else 'infinity' end
    where id = ${failure.siteId}::uuid`
}

/** One instance was read by itself and has changed. */
export const bumpRevision = async (tx: Tx, siteId: string): Promise<void> => {
  await tx`update site set revision = revision + 1 where id = ${siteId}::uuid`
}
