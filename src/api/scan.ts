import type { Clock } from '../clock.ts'

/** Rows read at once: enough to be quick, few enough that memory stays flat whatever the fleet's size. */
const usualRows = 1_000
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

/** Looks at rows in the order of their ids until enough match, none is left, or the time is over. */
export const scan = async <Row extends ScannedRow>(options: ScanOptions<Row>): Promise<ScanOutcome> => {
  const startMs = options.clock.monotonicMs()
  const pageRows = options.pageRows ?? usualRows
  let [matched, scanned, errorCount] = [0, 0, 0]
  const errors: ScanError[] = []
  let after = options.after
  for (;;) {
    const rows = await options.read(after, pageRows)
    for (const row of rows) {
      if (matched === options.limit) return { matched, scanned, errorCount, errors, next: after ?? null }
      scanned += 1
      after = row.id
      const verdict = judge(row, options.test)
      if (verdict === true) {
        matched += 1
        options.onMatch(row)
      } else if (verdict !== false) {
        errorCount += 1
        if (errors.length < shownErrors) errors.push({ id: row.id, message: verdict })
      }
    }
    await options.onPage?.()
    if (rows.length < pageRows) return { matched, scanned, errorCount, errors, next: null }
    if (options.clock.monotonicMs() - startMs > options.budgetMs)
      return { matched, scanned, errorCount, errors, next: after ?? null }
  }
}

const judge = <Row>(row: Row, test: (row: Row) => boolean): boolean | string => {
  try {
    return test(row)
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
