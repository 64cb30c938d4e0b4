import { fileURLToPath } from 'node:url'
import { v7 as uuidv7 } from 'uuid'
import { type Db, openDb } from '../../../db/client.ts'
import { migrateDb } from '../../../db/migrate/migrate.ts'
import { targetSettings } from '../../../src/domain/inventory/site-settings.ts'
import { makeInstances } from '../inventory/made-instances.ts'
import { firstMessage, startProcess } from '../processes.ts'
import { say, sayBar, saySection, sayTable } from '../report.ts'
import { makeStartedBatch } from './made-batch.ts'
import type { StartReport, StartTask } from './start-program.ts'
import type { BatchBench } from './suite.ts'

const program = fileURLToPath(new URL('./start-program.ts', import.meta.url))
const name = 'everything'

/**
 * The start of a batch of a whole fleet: every instance is asked about, has its entry, and its first job.
 * `BENCH_INSTANCES=10000` makes it smaller; the bars are those of 100,000.
 */
export const runStart = async ({ options, postgres }: BatchBench): Promise<void> => {
  const instances = Number(process.env.BENCH_INSTANCES ?? (options.quick ? 1_000 : 100_000))
  saySection(`start of a batch of ${instances} instances`)
  const url = await postgres.createDatabase('batch_start')
  await migrateDb(url)
  const db = openDb({ url, max: 6, applicationName: 'drover-bench' })
  const began = performance.now()
  await makeInstances(db, instances)
  say(`synced, judged and analysed in ${seconds(performance.now() - began)} s`)
  await addTarget(db)
  await makeStartedBatch(db, {
    name,
    target: 'cloud',
    pool: 'default',
    include: 'cpus >= 1 && location.startsWith("/")',
    scripted: false,
  })
  const report = await askProcess({ databaseUrl: url, batch: name })
  await check(db, instances)
  await db.end({ timeout: 5 })
  await postgres.dropDatabase('batch_start')
  tell(report)
}

const seconds = (ms: number) => (ms / 1_000).toFixed(1)

const addTarget = async (db: Db): Promise<void> => {
  await db`
    insert into site (id, role, name, kind, endpoint, username, settings, connectivity, created_by)
    values (${uuidv7()}::uuid, 'target', 'cloud', 'lab', 'http://127.0.0.1:9', 'bench',
      ${db.json(targetSettings.parse({}) as never)}, 'ok', 'bench')`
}

/** A number counts only when the work was done. */
const check = async (db: Db, instances: number): Promise<void> => {
  const [row] = await db<{ entries: number; jobs: number; blocked: number }[]>`
    select count(*)::int as entries, count(job_id)::int as jobs,
      (count(*) filter (where state = 'blocked' and job_id is null))::int as blocked from entry`
  say(`entries ${row?.entries}, with a first job ${row?.jobs}, blocked ${row?.blocked}`)
  if (row?.entries !== instances || row.jobs + row.blocked !== instances || row.jobs === 0)
    throw new Error(`The start is not right: ${JSON.stringify(row)}`)
}

const askProcess = async (task: StartTask): Promise<StartReport> => {
  const started = startProcess({
    title: 'starter',
    command: process.execPath,
    args: ['--import', 'tsx', program],
    ipc: true,
  })
  await firstMessage(started.title, started)
  const answer = await new Promise<
    | { readonly type: 'done'; readonly report: StartReport }
    | { readonly type: 'failed'; readonly message: string }
  >((resolve, reject) => {
    started.child.once('exit', () => reject(new Error(`The starter died.\n${started.output()}`)))
    started.child.once('message', (message) => resolve(message as never))
    started.child.send(task)
  })
  await started.stop()
  if (answer.type === 'failed') throw new Error(`The start failed: ${answer.message}`)
  return answer.report
}

const tell = (report: StartReport): void => {
  const { entriesMs, jobsMs, cpuMs, idleBytes, peakBytes } = report
  sayTable([
    ['part', 'seconds'],
    ['filter, entries, instances frozen', seconds(entriesMs)],
    ['a first job for each entry', seconds(jobsMs)],
    ['our CPU in all', seconds(cpuMs)],
  ])
  say(`what the start said: ${JSON.stringify(report.found)}`)
  say(
    `memory: ${(idleBytes / 2 ** 20).toFixed(0)} MiB before, at most ${(peakBytes / 2 ** 20).toFixed(0)} MiB`,
  )
  const bar = (title: string, measured: number, limit: number, unit: string) =>
    sayBar({ name: title, measured, bar: limit, atLeast: false, unit })
  bar('batch-start', (entriesMs + jobsMs) / 1_000, 60, 's')
  bar('batch-start-memory', peakBytes / 2 ** 20, 400, 'MiB')
}
