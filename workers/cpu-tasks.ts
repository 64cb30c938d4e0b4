import { createHash } from 'node:crypto'
import { checkScript, placeByScript } from '../src/migration/place/script-thread.ts'

/** What may take long on the processor. Each is a pure function of its input, run in a thread. */
export const cpuTasks = {
  /** Hashes for about this long: the self-test's way to keep a processor busy. */
  burn: ({ forMs }: { forMs: number }): { rounds: number } => {
    const until = performance.now() + forMs
    let rounds = 0
    for (let hash = Buffer.alloc(32); performance.now() < until; rounds += 1)
      hash = createHash('sha256').update(hash).digest()
    return { rounds }
  },
  'place-by-script': placeByScript,
  'check-script': checkScript,
} as const

export type CpuTasks = typeof cpuTasks
