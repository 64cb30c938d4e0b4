import { createPostgresBackend, Queue, withBackend } from 'bullmq'
import postgres from 'postgres'
import type { Contender, RunningContender } from '../contender.ts'
import { startWorkerProgram } from './worker-process.ts'

type AnyQueue = Pick<Queue, 'addBulk' | 'getJobCountByTypes' | 'close'>

const batch = (count: number, serial: number) =>
  Array.from({ length: count }, (_, at) => ({ name: 'noop', data: { serial: serial + at } }))

/** What is the same on both stores. */
const operations = (queue: AnyQueue): Pick<RunningContender, 'enqueue' | 'left'> => {
  let serial = 0
  return {
    enqueue: async (count) => {
      await queue.addBulk(batch(count, serial))
      serial += count
    },
    left: () => queue.getJobCountByTypes('waiting', 'active', 'prioritized', 'delayed'),
  }
}

export const bullmqRedis: Contender = {
  name: 'bullmq-redis',
  title: 'BullMQ 6.7.0 alone, on Redis',
  settings: () => '1 process, concurrency 100, completed jobs removed; addBulk',
  open: async (bench) => {
    await bench.redis.flush()
    const queue = new Queue('noop', { connection: { url: bench.redis.url } })
    queue.on('error', () => {})
    const worker = await startWorkerProgram('bullmq-program', { redisUrl: bench.redis.url, concurrency: 100 })
    return {
      ...operations(queue),
      processes: [worker],
      settle: async () => {},
      close: async () => {
        await worker.stop()
        await queue.close()
      },
    }
  },
}

export const bullmqPostgres: Contender = {
  name: 'bullmq-postgres',
  title: 'BullMQ 6.7.0 alone, on Postgres',
  settings: () => '1 process, concurrency 25, completed jobs removed; addBulk',
  open: async (bench, name) => {
    const url = await bench.postgres.createDatabase(name)
    const { Queue: PostgresQueue } = withBackend(createPostgresBackend)
    const queue = new PostgresQueue('noop', { connection: { connectionString: url, migrate: true } })
    queue.on('error', () => {})
    await queue.waitUntilReady()
    const sql = postgres(url, { max: 1, onnotice: () => {} })
    const worker = await startWorkerProgram('bullmq-program', { databaseUrl: url, concurrency: 25 })
    return {
      ...operations(queue),
      processes: [worker],
      settle: async () => void (await sql`vacuum analyze`),
      close: async () => {
        await worker.stop()
        await queue.close()
        await sql.end()
      },
    }
  },
}
