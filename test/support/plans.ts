import type { Db, Queryable } from '../../db/client.ts'

interface PlanNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  readonly Plans?: readonly PlanNode[]
}

export interface Reading {
  /** Rows that Postgres took from tables and indexes, whether they fitted or not. */
  readonly rows: number
  /** How each table was read: `Index Scan of job by job_failed`. */
  readonly scans: readonly string[]
}

/**
 * Runs a query of db/queries and tells what Postgres really read for it. Unlike its time, that is the same on any
 * machine. The tables must have been analysed.
 */
export const readingOf = async (db: Db, ask: (db: Queryable) => Promise<unknown>): Promise<Reading> => {
  const nodes: PlanNode[] = []
  // What the query awaits is explained; what it only puts into another piece of SQL is left as it is.
  const explaining = (strings: TemplateStringsArray, ...values: never[]) => {
    const query = db(strings, ...values)
    const explain = async () => {
      const [row] = await db`explain (analyze, format json) ${db(strings, ...values)}`
      const [top] = Object.values(row ?? {})[0] as { Plan: PlanNode }[]
      if (top) nodes.push(...nodesOf(top.Plan))
      return (await db(strings, ...values)) as unknown as never[]
    }
    return Object.defineProperty(query, 'then', {
      value: (...next: Parameters<Promise<never[]>['then']>) => explain().then(...next),
    })
  }
  await ask(explaining as unknown as Queryable)
  const scans = nodes.filter((node) => node['Relation Name'] !== undefined)
  return { rows: scans.map(rowsOf).reduce((sum, rows) => sum + rows, 0), scans: scans.map(nameOf) }
}

function* nodesOf(node: PlanNode): Generator<PlanNode> {
  yield node
  for (const inner of node.Plans ?? []) yield* nodesOf(inner)
}

const rowsOf = (node: PlanNode): number =>
  Math.ceil(
    (node['Actual Rows'] +
      (node['Rows Removed by Filter'] ?? 0) +
      (node['Rows Removed by Index Recheck'] ?? 0)) *
      node['Actual Loops'],
  )

const nameOf = (node: PlanNode): string =>
  `${node['Node Type']} of ${node['Relation Name']}${node['Index Name'] ? ` by ${node['Index Name']}` : ''}`
