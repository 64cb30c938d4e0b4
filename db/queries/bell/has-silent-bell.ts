import type { Queryable } from '../../client.ts'

/** Whether a bell of this kind is out for longer than `olderMs`. */
export const hasSilentBell = async (db: Queryable, kind: string, olderMs: number): Promise<boolean> => {
  const rows = await db`
    select 1 from job where state = 'ready' and bell = 'rung' and kind = ${kind}
      and published_at < now() - ${olderMs}::float8 * interval '1 millisecond' limit 1`
  return rows.length === 1
}
