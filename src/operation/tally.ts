import type { Db } from '../../db/client.ts'
import { foldOperationEnds } from '../../db/queries/fold-operation-ends.ts'
import { measureOpenOperations, readOperationTally } from '../../db/queries/measure-operations.ts'
import type { Clock } from '../clock.ts'
import { Loop, type Service } from '../ledger/service.ts'
import type { Logger } from '../log.ts'
import { counter, gauge } from '../telemetry.ts'

const ended = counter('operations_total', 'Operations that ended or were refused, by what became of them.', [
  'kind',
  'force',
  'outcome',
  'reason',
])
const waited = counter('operation_wait_seconds_total', 'How long operations waited before they began.', [
  'kind',
])
const ran = counter('operation_run_seconds_total', 'How long operations took once they had begun.', ['kind'])
const open = gauge('operations_open', 'Operations that have not come to their end.', ['state', 'reason'])
const oldest = gauge(
  'operations_oldest_seconds',
  'Age of the oldest operation that has not come to its end.',
  ['state', 'reason'],
)
const all = [ended, waited, ran, open, oldest]

const intervalMs = 5_000
const foldMost = 5_000

/** Keeps the tally of operations and shows it on the leader: one process tells of the whole fleet. */
export const operationTally = ({ db, clock, log }: { db: Db; clock: Clock; log: Logger }): Service => {
  const loop = new Loop({
    name: 'operation-tally',
    intervalMs,
    clock,
    log,
    runOnce: async () => {
      const folded = await foldOperationEnds(db, foldMost)
      await showOperations(db)
      return folded === foldMost
    },
  })
  return {
    name: loop.name,
    start: () => loop.start(),
    stop: async () => {
      await loop.stop()
      // Who does not lead any more would tell of yesterday beside the one who does.
      for (const metric of all) metric.reset()
    },
  }
}

/** Shows the counts as they are now. What is counted is in Postgres, so it survives whoever shows it. */
export const showOperations = async (db: Db): Promise<void> => {
  const [tally, lines] = await Promise.all([readOperationTally(db), measureOpenOperations(db)])
  // From here on without a pause: nobody reads them while they are empty.
  for (const metric of all) metric.reset()
  for (const { kind, force, outcome, reason, times, waitedSeconds, ranSeconds } of tally) {
    ended.inc({ kind, force: String(force), outcome, reason }, times)
    waited.inc({ kind }, waitedSeconds)
    ran.inc({ kind }, ranSeconds)
  }
  for (const { state, reason, operations, oldestSeconds } of lines) {
    open.set({ state, reason }, operations)
    oldest.set({ state, reason }, oldestSeconds)
  }
}
