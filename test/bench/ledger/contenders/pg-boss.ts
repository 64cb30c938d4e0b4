import PgBoss from 'pg-boss'
import postgres from 'postgres'
import type { Contender, RunningContender } from '../contender.ts'
import { startWorkerProgram } from './worker-process.ts'

interface Mode {
  readonly workers: number
  readonly batchSize: number
  readonly eager: boolean
}

const open = async (url: string, mode: Mode): Promise<RunningContender> => {
  const boss = new PgBoss({ connectionString: url, supervise: false, schedule: false })
  boss.on('error', () => {})
  await boss.start()
  await boss.createQueue('noop')
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  const worker = await startWorkerProgram('pg-boss-program', { url, ...mode })
  let serial = 0
  return {
    processes: [worker],
    enqueue: (count) =>
      boss.insert(Array.from({ length: count }, () => ({ name: 'noop', data: { serial: ++serial } }))),
    left: async () => {
      const [row] = await sql`
        select count(*)::int as left from pgboss.job where name = 'noop' and state < 'completed'`
      return row?.left as number
    },
    settle: async () => void (await sql`vacuum analyze`),
    close: async () => {
      await worker.stop()
      await boss.stop({ graceful: false, wait: false })
      await sql.end()
    },
  }
}

export const pgBoss: Contender = {
  name: 'pg-boss',
  title: 'pg-boss 10.4.2',
  settings: () => '1 process, 4 workers, batches of 500, polling every 0.5 s; insert',
  open: async (bench, name) =>
    open(await bench.postgres.createDatabase(name), { workers: 4, batchSize: 500, eager: false }),
}

export const pgBossBatched: Contender = {
  name: 'pg-boss-batched',
  title: 'pg-boss 10.4.2, batched (far mark)',
  settings: () =>
    '1 process, 1 worker, batches of 2,000 to one handler call, next batch asked for at once; insert',
  open: async (bench, name) =>
    open(await bench.postgres.createDatabase(name), { workers: 1, batchSize: 2_000, eager: true }),
}
