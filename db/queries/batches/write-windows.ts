import type { Tx } from '../../client.ts'
import type { WindowRow } from '../../schema/migration.ts'

export type NewWindowRow = Omit<WindowRow, 'batchId'>

/** Replaces the windows of a batch. A window that keeps its name keeps its id, and with it its entries. */
export const writeWindows = async (
  tx: Tx,
  batchId: string,
  windows: readonly NewWindowRow[],
): Promise<void> => {
  const names = windows.map(({ name }) => name)
  await tx`delete from batch_window where batch_id = ${batchId}::uuid and not name = any(${names}::text[])`
  const input = windows.map((window) => ({
    id: window.id,
    name: window.name,
    starts_at: window.startsAt,
    ends_at: window.endsAt,
    lockout_at: window.lockoutAt,
    capacity: window.capacity,
  }))
  await tx`
    insert into batch_window (id, batch_id, name, starts_at, ends_at, lockout_at, capacity)
    select id, ${batchId}::uuid, name, starts_at, ends_at, lockout_at, capacity
    from jsonb_to_recordset(${JSON.stringify(input)}::text::jsonb) as w(id uuid, name text, starts_at timestamptz,
      ends_at timestamptz, lockout_at timestamptz, capacity integer)
    on conflict (batch_id, name) do update set starts_at = excluded.starts_at, ends_at = excluded.ends_at,
      lockout_at = excluded.lockout_at, capacity = excluded.capacity`
}
