import type { Json } from './client.ts'
import type { Call } from './command.ts'
import { progressBar } from './progress-bar.ts'
import { pathOf } from './rows.ts'

const firstLookMs = 100
const slowestLookMs = 2_000
const ended = new Set(['succeeded', 'failed', 'canceled'])

/** Looks at a job until it has ended: often at first, then at leisure. Shows its progress on a terminal. */
export const untilEnded = async (call: Call, id: string): Promise<Json> => {
  const { client, output } = call
  const began = performance.now()
  let pauseMs = firstLookMs
  for (;;) {
    const job = await client.get(pathOf('jobs', id))
    if (ended.has(String(job.state))) {
      output.live('')
      return job
    }
    output.live(lineOf(job, performance.now() - began))
    await client.sleep(pauseMs)
    pauseMs = Math.min(pauseMs * 1.5, slowestLookMs)
  }
}

const lineOf = (job: Json, elapsedMs: number): string => {
  const { done, total } = (job.progress ?? {}) as { done?: unknown; total?: unknown }
  if (typeof done === 'number' && typeof total === 'number' && total > 0)
    return progressBar(done, total, elapsedMs)
  const wait = job.wait as Json | null
  return `${job.state}${wait ? `: ${wait.detail}` : ''}`
}
