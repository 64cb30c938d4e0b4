import type { Clock } from '../clock.ts'
import { pacer } from './pace.ts'

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
  const { clock } = options
  const pageRows = options.pageRows ?? usualRows
  const endMs = clock.monotonicMs() + options.budgetMs
  const breathe = pacer(clock)
  const seen = { matched: 0, scanned: 0, errorCount: 0, errors: [] as ScanError[] }
  let after = options.after
  for (;;) {
    const rows = await options.read(after, pageRows)
    for (const row of rows) {
      if (seen.matched === options.limit || (seen.scanned > 0 && clock.monotonicMs() > endMs)) {
        await options.onPage?.()
        return { ...seen, next: after ?? null }
      }
      count(seen, row, options)
      after = row.id
      await breathe()
    }
    await options.onPage?.()
    if (rows.length < pageRows) return { ...seen, next: null }
  }
}

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
