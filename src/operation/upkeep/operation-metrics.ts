import type { Db } from '../../../db/client.ts'
import { foldOperationEnds } from '../../../db/queries/operations/fold-operation-ends.ts'
import {
  measureOpenOperations,
  readOperationCounts,
  readOperationSpans,
  type SpanLine,
} from '../../../db/queries/operations/measure-operations.ts'
import type { Clock } from '../../clock.ts'
import { spanBounds } from '../../domain/operation/kinds/times.ts'
import type { Logger } from '../../process/log.ts'
import { Loop, type Service } from '../../process/service.ts'
import { type StoredBucket, storedHistogram } from '../../process/stored-histogram.ts'
import { counter, gauge } from '../../process/telemetry.ts'

const ended = counter('operations_total', 'Operations that ended or were refused, by what became of them.', [
  'kind',
  'force',
  'outcome',
  'reason',
])
const waited = storedHistogram(
  'operation_wait_seconds',
  'How long operations waited until they began, or ended without having begun.',
  spanBounds,
)
const ran = storedHistogram(
  'operation_run_seconds',
  'How long operations took from their beginning to their end.',
  spanBounds,
)
const open = gauge('operations_open', 'Operations that have not come to their end.', ['state', 'reason'])
const oldest = gauge(
  'operations_oldest_seconds',
  'Age of the oldest operation that has not come to its end.',
  ['state', 'reason'],
)
const all = [ended, waited, ran, open, oldest]

const intervalMs = 5_000
const foldMost = 5_000

export interface OperationMetricsOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
  /** A worker without a heartbeat for longer than this counts as dead. */
  readonly silentMs: number
}

/** Counts operations and exports the metrics on the leader: one process reports for the whole fleet. */
export const operationMetrics = ({ db, clock, log, silentMs }: OperationMetricsOptions): Service => {
  const loop = new Loop({
    name: 'operation-tally',
    intervalMs,
    clock,
    log,
    runOnce: async () => {
      const folded = await foldOperationEnds(db, foldMost)
      await showOperations(db, silentMs)
      return folded === foldMost
    },
  })
  return {
    name: loop.name,
    start: () => loop.start(),
    stop: async () => {
      await loop.stop()
      // A former leader would export stale numbers next to those of the new leader.
      for (const metric of all) metric.reset()
    },
  }
}

/** Exports the current counts. The counts are stored in Postgres, so they survive the process that exports them. */
export const showOperations = async (db: Db, silentMs: number): Promise<void> => {
  const [counts, spans, lines] = await Promise.all([
    readOperationCounts(db),
    readOperationSpans(db),
    measureOpenOperations(db, silentMs),
  ])
  // No await from here on: a scrape must not see the empty metrics.
  for (const metric of all) metric.reset()
  for (const { kind, force, outcome, reason, times } of counts)
    ended.inc({ kind, force: String(force), outcome, reason }, times)
  waited.show(bucketsOf(spans, 'waited'))
  ran.show(bucketsOf(spans, 'ran'))
  for (const { state, reason, operations, oldestSeconds } of lines) {
    open.set({ state, reason }, operations)
    oldest.set({ state, reason }, oldestSeconds)
  }
}

const bucketsOf = (lines: readonly SpanLine[], wanted: string): StoredBucket[] =>
  lines
    .filter(({ span }) => span === wanted)
    .map(({ kind, outcome, le, times, seconds }) => ({
      labels: { kind, outcome },
      le,
      times,
      sum: seconds,
    }))
