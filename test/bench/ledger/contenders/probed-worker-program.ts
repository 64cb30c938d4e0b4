import { readConfig } from '../../../../src/config/config.ts'
import { runWorker } from '../../../../src/roles/worker.ts'
import { RunningJob } from '../../../../workers/running-job.ts'

/**
 * A worker process like any other that also tells when a handler starts: at its first look at its payload, on
 * the machine's monotonic clock, which all processes share.
 */
const payload = Object.getOwnPropertyDescriptor(RunningJob.prototype, 'payload')?.get
if (!payload) throw new Error('RunningJob has no payload to watch.')
const told = new WeakSet<RunningJob>()
Object.defineProperty(RunningJob.prototype, 'payload', {
  get(this: RunningJob) {
    if (!told.has(this)) {
      told.add(this)
      process.send?.({ type: 'started', id: this.job.id, atNs: String(process.hrtime.bigint()) })
    }
    return payload.call(this) as unknown
  },
})

const role = await runWorker(readConfig(process.env))
process.send?.({ type: 'running', port: role.port })
process.on('disconnect', () => process.exit(1))
process.once('SIGTERM', () => {
  void role.stop().finally(() => process.exit(0))
})
