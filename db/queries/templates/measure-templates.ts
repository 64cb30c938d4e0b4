import type { Queryable } from '../../client.ts'

export interface TemplateCounts {
  readonly states: Readonly<Record<string, number>>
  /** Templates that were live and whose name points at nothing. */
  readonly lost: number
  /** Objects of templates whose removal or renaming has failed so far. */
  readonly orphans: number
}

export const measureTemplates = async (db: Queryable): Promise<TemplateCounts> => {
  const rows = await db<{ state: string; count: number; lost: number }[]>`
    select state, count(*)::int as count,
      (count(*) filter (where state = 'absent' and version_live is not null))::int as lost
    from template where deleted_at is null group by state`
  const [left] = await db<{ orphans: number }[]>`
    select count(*)::int as orphans from effect where state = 'debt' and subject_type = 'template' and attempts > 0`
  return {
    states: Object.fromEntries(rows.map(({ state, count }) => [state, count])),
    lost: rows.reduce((sum, row) => sum + row.lost, 0),
    orphans: left?.orphans ?? 0,
  }
}
