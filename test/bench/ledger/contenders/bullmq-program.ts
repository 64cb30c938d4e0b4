import { createPostgresBackend, Worker, withBackend } from 'bullmq'
import { programSettings, sayReady } from './worker-process.ts'

/** One of the two stores. */
type Store = { redisUrl: string } | { databaseUrl: string }

const settings = programSettings<Store & { concurrency: number }>()
const options = { concurrency: settings.concurrency, removeOnComplete: { count: 0 } }
const noop = async () => {}

const open = () => {
  if ('redisUrl' in settings)
    return new Worker('noop', noop, { ...options, connection: { url: settings.redisUrl } })
  const { Worker: PostgresWorker } = withBackend(createPostgresBackend)
  return new PostgresWorker('noop', noop, {
    ...options,
    connection: { connectionString: settings.databaseUrl, max: settings.concurrency + 5 },
  })
}

const worker = open()
worker.on('error', (error) => console.error(error))
await worker.waitUntilReady()
sayReady()
process.once('SIGTERM', () => {
  void worker.close(true).finally(() => process.exit(0))
})
