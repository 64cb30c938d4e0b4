import { Logger, run } from 'graphile-worker'
import { programSettings, sayReady } from './worker-process.ts'

const settings = programSettings<{ url: string; concurrency: number; batched: boolean }>()
const quiet = new Logger(() => () => {})
const runner = await run({
  preset: {
    worker: {
      connectionString: settings.url,
      concurrentJobs: settings.concurrency,
      maxPoolSize: settings.concurrency + 2,
      logger: quiet,
      ...(settings.batched
        ? { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 }
        : {}),
    },
  },
  taskList: { noop: async () => {} },
  noHandleSignals: true,
})
sayReady()
process.once('SIGTERM', () => {
  void runner.stop().finally(() => process.exit(0))
})
