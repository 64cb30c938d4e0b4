import PgBoss from 'pg-boss'
import { programSettings, sayReady } from './worker-process.ts'

const settings = programSettings<{ url: string; workers: number; batchSize: number; eager: boolean }>()
const boss = new PgBoss({ connectionString: settings.url })
boss.on('error', (error) => console.error(error))
await boss.start()
for (let at = 0; at < settings.workers; at += 1) {
  const id: string = await boss.work(
    'noop',
    { batchSize: settings.batchSize, pollingIntervalSeconds: 0.5 },
    async () => {
      // Asks for the next batch at once instead of at the next poll.
      if (settings.eager) boss.notifyWorker(id)
    },
  )
}
sayReady()
process.once('SIGTERM', () => {
  void boss.stop({ graceful: false, wait: false }).finally(() => process.exit(0))
})
