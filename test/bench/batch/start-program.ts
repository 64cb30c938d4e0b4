import { openDb } from '../../../db/client.ts'
import { findBatch } from '../../../db/queries/batches/batch-rows.ts'
import { type FoundInstances, makeEntries } from '../../../src/migration/batch/make-entries.ts'
import { advanceEntries } from '../../../src/migration/batch/scheduler.ts'
import { viewBatch } from '../../../src/migration/entry/batch-view.ts'
import { createLog } from '../../../src/process/log.ts'
import { addOne, contextOf, mustClaim } from '../../support/ledger.ts'

export interface StartTask {
  readonly databaseUrl: string
  readonly batch: string
}

export interface StartReport {
  readonly found: FoundInstances
  /** Filter and entries, with their instances frozen. */
  readonly entriesMs: number
  /** A first job for each entry that may go on. */
  readonly jobsMs: number
  readonly cpuMs: number
  readonly idleBytes: number
  readonly peakBytes: number
}

const ms = () => performance.now()
const peak = () => process.resourceUsage().maxRSS * 1_024

/** What the job `start-batch` and then the scheduler do, in a process of its own. */
const run = async ({ databaseUrl, batch: name }: StartTask): Promise<StartReport> => {
  const db = openDb({ url: databaseUrl, max: 8, applicationName: 'drover-bench', planOnce: true })
  const log = createLog({ role: 'conductor', level: 'warn' })
  const row = await findBatch(db, name)
  if (!row) throw new Error('There is no batch.')
  const idleBytes = peak()
  const cpu = process.cpuUsage()
  const began = ms()
  const job = await addOne(db, { subject: { type: 'batch', id: name } })
  const turn = contextOf(db, await mustClaim(db, job, { leaseMs: 3_600_000 }))
  const found = await makeEntries(turn, viewBatch(row, []), 'start')
  const entered = ms()
  // As autovacuum would, which is off here.
  await db`analyze`
  const analysed = ms()
  while (await advanceEntries({ db, log }));
  const done = ms()
  const used = process.cpuUsage(cpu)
  await db.end({ timeout: 5 })
  return {
    found,
    entriesMs: entered - began,
    jobsMs: done - analysed,
    cpuMs: (used.user + used.system) / 1_000,
    idleBytes,
    peakBytes: peak(),
  }
}

process.once('message', (task) => {
  run(task as StartTask).then(
    (report) => process.send?.({ type: 'done', report }, () => process.disconnect()),
    (error: Error) => process.send?.({ type: 'failed', message: error.stack }, () => process.disconnect()),
  )
})
process.send?.({ type: 'ready' })
