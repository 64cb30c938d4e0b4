import { Logger, makeWorkerUtils } from 'graphile-worker'
import postgres from 'postgres'
import type { Bench, Contender, RunningContender } from '../contender.ts'
import { startWorkerProgram } from './worker-process.ts'

const open = async (url: string, batched: boolean): Promise<RunningContender> => {
  const utils = await makeWorkerUtils({ connectionString: url, logger: new Logger(() => () => {}) })
  await utils.migrate()
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  const worker = await startWorkerProgram('graphile-program', { url, concurrency: 24, batched })
  let serial = 0
  return {
    processes: [worker],
    enqueue: async (count) => {
      await utils.addJobs(
        Array.from({ length: count }, () => ({ identifier: 'noop', payload: { serial: ++serial } })),
      )
    },
    left: async () => {
      const [row] = await sql`select count(*)::int as left from graphile_worker._private_jobs`
      return row?.left as number
    },
    settle: async () => void (await sql`vacuum analyze`),
    close: async () => {
      await worker.stop()
      await utils.release()
      await sql.end()
    },
  }
}

const database = (bench: Bench, name: string) => bench.postgres.createDatabase(name)

export const graphile: Contender = {
  name: 'graphile',
  title: 'graphile-worker 0.17.3',
  settings: () => '1 process, 24 jobs at once, defaults otherwise; addJobs',
  open: async (bench, name) => open(await database(bench, name), false),
}

export const graphileBatched: Contender = {
  name: 'graphile-batched',
  title: 'graphile-worker 0.17.3, batched (far mark)',
  settings: () => '1 process, 24 at once, localQueue 500, completes and fails batched (delay 0); addJobs',
  open: async (bench, name) => open(await database(bench, name), true),
}
