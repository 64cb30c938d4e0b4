import { z } from '@hono/zod-openapi'
import type { Clock } from '../../clock.ts'
import { stepsSoFar } from '../../domain/filter/meter.ts'
import type { Slices } from '../http/filter-turns.ts'

/** Rows read at once: enough to be quick, few enough that memory stays flat whatever the fleet's size. */
const mostRows = 1_000
/** At first: nobody knows yet how long a row takes, and what is read and not looked at is read for nothing. */
const firstRows = 200
/** Rows are read for about so much of a filter's work: a tenth of a second. */
const pageSteps = 5_000_000
const shownErrors = 20

export interface ScannedRow {
  readonly id: string
}

/** A row that the filter could not judge. It is this row's trouble alone; the others go on. */
export interface ScanError {
  readonly id: string
  readonly message: string
}

export interface ScanOptions<Row extends ScannedRow> {
  readonly clock: Clock
  readonly budgetMs: number
  /** Undefined: what is asked of a row is too little to take turns for. */
  readonly slices: Slices | undefined
  /** Ends as soon as so many match. */
  readonly limit: number
  readonly after: string | undefined
  /** So many at once, where the caller knows better. */
  readonly pageRows?: number | undefined
  readonly read: (after: string | undefined, limit: number) => Promise<readonly Row[]>
  /** Throws where a row cannot be judged. */
  readonly test: (row: Row) => boolean
  readonly onMatch: (row: Row) => void
  readonly onPage?: () => Promise<void>
}

export interface ScanOutcome {
  readonly matched: number
  readonly scanned: number
  readonly errorCount: number
  /** The first few. */
  readonly errors: readonly ScanError[]
  /** Where to go on; null: everything was looked at. */
  readonly next: string | null
}

export const scanShape = {
  scanned: z.int().openapi({ description: 'How many were looked at.' }),
  error_count: z.int(),
  errors: z
    .array(z.object({ id: z.uuid(), message: z.string() }))
    .openapi({ description: 'The first of those that the filter could not judge; they did not match.' }),
}

export const scanFields = (outcome: ScanOutcome) => ({
  scanned: outcome.scanned,
  error_count: outcome.errorCount,
  errors: [...outcome.errors],
})

/** Looks at rows in the order of their ids until enough match, none is left, or the time is over. */
export const scan = async <Row extends ScannedRow>(options: ScanOptions<Row>): Promise<ScanOutcome> => {
  const { clock } = options
  let pageRows = options.pageRows ?? firstRows
  const endMs = clock.monotonicMs() + options.budgetMs
  const seen = { matched: 0, scanned: 0, errorCount: 0, errors: [] as ScanError[] }
  let after = options.after
  for (;;) {
    const rows = await options.read(after, pageRows)
    options.slices?.end()
    const stepsBefore = stepsSoFar()
    for (const row of rows) {
      if (seen.matched === options.limit || (seen.scanned > 0 && clock.monotonicMs() > endMs)) {
        await options.onPage?.()
        return { ...seen, next: after ?? null }
      }
      const turn = options.slices?.next()
      if (turn) await turn
      count(seen, row, options)
      after = row.id
    }
    await options.onPage?.()
    if (rows.length < pageRows) return { ...seen, next: null }
    pageRows = options.pageRows ?? rowsFor((stepsSoFar() - stepsBefore) / rows.length)
  }
}

/** Steps of others who had a turn in between count as well: then fewer are read, which is as well. */
const rowsFor = (rowSteps: number): number =>
  Math.min(mostRows, Math.max(1, Math.floor(pageSteps / Math.max(1, rowSteps))))

const count = <Row extends ScannedRow>(
  seen: { matched: number; scanned: number; errorCount: number; errors: ScanError[] },
  row: Row,
  { test, onMatch }: ScanOptions<Row>,
): void => {
  seen.scanned += 1
  const verdict = judge(row, test)
  if (verdict === true) {
    seen.matched += 1
    onMatch(row)
  } else if (verdict !== false) {
    seen.errorCount += 1
    if (seen.errors.length < shownErrors) seen.errors.push({ id: row.id, message: verdict })
  }
}

const judge = <Row>(row: Row, test: (row: Row) => boolean): boolean | string => {
  try {
    return test(row)
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
