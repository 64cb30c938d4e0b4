import type { ApiDeps } from '../http/env.ts'
import type { Slices } from '../http/filter-turns.ts'
import { readCursor, uuidKey, writeCursor } from '../wire/page.ts'
import type { RowTest } from './inventory-filter.ts'
import { type ScannedRow, scan } from './scan.ts'

/** A part of the request's time for looking; the rest is for the answer. */
const listBudgetPart = 0.4

/** A page of things of which each row is all there is to say: they are read whole, filtered or not. */
export const wholePage = async <Row extends ScannedRow, Item>(
  deps: Pick<ApiDeps, 'clock' | 'limits'>,
  query: { readonly limit: number; readonly cursor?: string | undefined },
  list: {
    readonly name: string
    readonly read: (after: string | undefined, limit: number) => Promise<readonly Row[]>
    /** Undefined: all that are read. */
    readonly test: RowTest<Row> | undefined
    readonly item: (row: Row) => Item
    readonly slices: Slices | undefined
  },
) => {
  const items: Item[] = []
  const outcome = await scan<Row>({
    clock: deps.clock,
    budgetMs: deps.limits.requestMs * listBudgetPart,
    slices: list.slices,
    limit: query.limit,
    after: readCursor(list.name, uuidKey, query.cursor),
    pageRows: list.test ? undefined : query.limit + 1,
    read: list.read,
    test: list.test ?? (() => true),
    onMatch: (row) => items.push(list.item(row)),
  })
  const next_cursor = outcome.next === null ? null : writeCursor(list.name, outcome.next)
  return { items, next_cursor, outcome }
}
