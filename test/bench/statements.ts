import type { PostgresServer } from './postgres-server.ts'
import { say, saySection, sayTable } from './report.ts'

interface Cost {
  calls: number
  totalMs: number
  rows: number
}

const costs = new Map<string, Map<string, Cost>>()
const shown = 25
const shownCharacters = 110

/** Adds what the statements of a database have cost so far; call it before the database is dropped. */
export const takeStatements = async (
  server: PostgresServer,
  database: string,
  group: string,
): Promise<void> => {
  const rows = await server.admin<{ query: string; calls: number; totalMs: number; rows: number }[]>`
    select query, sum(calls)::int as calls, sum(total_exec_time)::float8 as "totalMs", sum(rows)::int as rows
    from pg_stat_statements s join pg_database d on d.oid = s.dbid where d.datname = ${database} group by query`
  const ofGroup = costs.get(group) ?? new Map<string, Cost>()
  costs.set(group, ofGroup)
  for (const row of rows) {
    const cost = ofGroup.get(row.query) ?? { calls: 0, totalMs: 0, rows: 0 }
    ofGroup.set(row.query, {
      calls: cost.calls + row.calls,
      totalMs: cost.totalMs + row.totalMs,
      rows: cost.rows + row.rows,
    })
  }
}

/** Prints the dearest statements of each group. */
export const sayStatements = (): void => {
  for (const [group, ofGroup] of costs) {
    saySection(`Statements of ${group}, the dearest first (all rounds, warm-up and set-up included)`)
    const dearest = [...ofGroup].sort(([, a], [, b]) => b.totalMs - a.totalMs).slice(0, shown)
    sayTable([
      ['statement', 'calls', 'rows', 'total ms', 'ms a call'],
      ...dearest.map(([query, cost]) => [
        query.replace(/\s+/g, ' ').trim().slice(0, shownCharacters),
        String(cost.calls),
        String(cost.rows),
        cost.totalMs.toFixed(0),
        (cost.totalMs / cost.calls).toFixed(3),
      ]),
    ])
  }
  if (costs.size === 0) say('no statements were gathered')
}
