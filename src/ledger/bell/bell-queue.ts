import type { JobsOptions, WorkerOptions } from 'bullmq'
import { crashPoint } from '../../crash-point.ts'
import { type BellListener, bellId, type HeardBell, type Ring } from './bell.ts'

/** BullMQ's own retries are off: attempts, backoff and deadlines belong to Postgres. */
const bellOptions: JobsOptions = {
  attempts: 1,
  // A bell that was followed has nothing more to tell: Postgres has the outcome of the job. Keeping the last 500 cost
  // Redis a third of its time, and the Postgres store more than half of its rate.
  removeOnComplete: true,
  removeOnFail: { age: 86_400, count: 1_000 },
}

/** How BullMQ workers are set, the same on both stores. */
export const listenerOptions = {
  lockDuration: 30_000,
  stalledInterval: 15_000,
  // A stalled bell is delivered again as often as necessary; Postgres decides how often a job may be lost.
  maxStalledCount: 1_000_000,
  runRetryDelay: 500,
  // In seconds. A frozen worker may have swallowed the wake-up of another worker, which then polls.
  drainDelay: 1,
  removeOnComplete: { count: 0 },
  removeOnFail: { age: 86_400, count: 1_000 },
} as const satisfies Partial<WorkerOptions>

const isHeardBell = (data: unknown): data is HeardBell =>
  typeof data === 'object' &&
  data !== null &&
  'id' in data &&
  typeof data.id === 'string' &&
  'generation' in data

/** Handles a BullMQ job: passes the two fields on, and acknowledges afterwards. */
export const processBell =
  (onBell: (bell: HeardBell) => Promise<void>) =>
  async (job: { data: unknown }): Promise<void> => {
    // Anything else in the queue is acknowledged: Postgres knows every real job.
    if (isHeardBell(job.data)) await onBell({ id: job.data.id, generation: job.data.generation })
  }

/** What the queues of both stores have in common; BullMQ types them differently by their connection. */
export interface RingableQueue {
  addBulk(jobs: { name: string; data: unknown; opts: JobsOptions }[]): Promise<unknown>
  getRanges(types: ('waiting' | 'prioritized' | 'delayed')[], start: number, end: number): Promise<string[]>
}

interface StoppableWorker {
  concurrency: number
  pause(doNotWaitActive?: boolean): Promise<void>
  close(force?: boolean): Promise<void>
  on(event: 'completed', listener: () => void): unknown
}

/** Adds rings to one queue in one call. Urgent rings go to the head, the most urgent last and so first. */
export const ringQueue = async (queue: RingableQueue, rings: readonly Ring[]): Promise<void> => {
  const toJob = (ring: Ring) => ({
    name: ring.kind,
    data: { id: ring.id, generation: ring.generation },
    opts: { ...bellOptions, jobId: bellId(ring), ...(ring.urgent ? { lifo: true } : {}) },
  })
  const urgent = rings.filter((ring) => ring.urgent).reverse()
  const normal = rings.filter((ring) => !ring.urgent)
  await queue.addBulk([...normal, ...urgent].map(toJob))
}

export const pendingIn = async (queue: RingableQueue): Promise<ReadonlySet<string>> =>
  new Set(await queue.getRanges(['waiting', 'prioritized', 'delayed'], 0, -1))

export const listenerOf = (worker: StoppableWorker): BellListener => {
  worker.on('completed', () => crashPoint('after-ack'))
  return {
    setSlots: (slots) => {
      worker.concurrency = slots
    },
    quiet: async () => {
      await worker.pause(true)
    },
    close: async () => {
      await worker.close()
    },
    abandon: async () => {
      await worker.close(true)
    },
  }
}
