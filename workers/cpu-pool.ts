import { availableParallelism } from 'node:os'
import { Piscina } from 'piscina'
import type { CpuTasks } from './cpu-tasks.ts'

/**
 * Threads for work that keeps a processor busy: digests, inflating, comparing. The process's own thread stays
 * free for heartbeats, so a long computation never costs a lease.
 */
export class CpuPool {
  #pool: Piscina | undefined

  /** Runs a task in a thread; an abort ends the thread at once. */
  run<Task extends keyof CpuTasks>(
    task: Task,
    input: Parameters<CpuTasks[Task]>[0],
    signal: AbortSignal,
  ): Promise<Awaited<ReturnType<CpuTasks[Task]>>> {
    this.#pool ??= new Piscina({
      filename: new URL('./cpu-thread.mjs', import.meta.url).href,
      maxThreads: Math.max(1, availableParallelism()),
      minThreads: 0,
      idleTimeout: 30_000,
      maxQueue: 1_000,
    })
    return this.#pool.run({ task, input }, { signal })
  }

  async close(): Promise<void> {
    await this.#pool?.destroy()
  }
}
