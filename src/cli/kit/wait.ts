import type { Json } from './client.ts'
import { type Call, exitCodes, flag } from './command.ts'
import { type Line, progressBar, when } from './output.ts'
import { codeOf, pathOf } from './rows.ts'

const firstLookMs = 100
const slowestLookMs = 2_000
const ended = new Set(['succeeded', 'failed', 'canceled'])

/**
 * Looks at a job until it has ended: often at first, then at leisure. Shows its progress on a terminal, as `amountText`
 * puts it.
 */
export const untilEnded = async (
  call: Call,
  id: string,
  amountText?: (amount: number) => string,
): Promise<Json> => {
  const { client, output } = call
  const began = performance.now()
  let pauseMs = firstLookMs
  for (;;) {
    const job = await client.get(pathOf('jobs', id))
    if (ended.has(String(job.state))) {
      output.live('')
      return job
    }
    output.live(lineOf(job, performance.now() - began, amountText))
    await client.sleep(pauseMs)
    pauseMs = Math.min(pauseMs * 1.5, slowestLookMs)
  }
}

const lineOf = (job: Json, elapsedMs: number, amountText?: (amount: number) => string): string => {
  const { done, total } = (job.progress ?? {}) as { done?: unknown; total?: unknown }
  if (typeof done === 'number' && typeof total === 'number' && total > 0)
    return progressBar(done, total, elapsedMs, amountText)
  const wait = job.wait as Json | null
  return `${job.state}${wait ? `: ${wait.detail}` : ''}`
}

export const waitOption = flag('wait until the job has ended; exit code 1 when it did not succeed')

/** After a 202: says which job does it, or follows that job to its end. */
export const afterAccepted = async (call: Call, job: Json, what: string): Promise<number> => {
  const { output } = call
  const said = job.existing
    ? `${what} is under way already: job ${job.id}.`
    : `${what} is committed: job ${job.id}.`
  if (call.values.wait !== true) {
    output.show(job, () => output.line(said))
    return exitCodes.ok
  }
  output.note(said)
  const ended = await untilEnded(call, String(job.id))
  output.show(ended, () => {
    output.fields([
      ['job', ended.id],
      ['state', ended.state],
      ...errorLines(ended.error),
      ['result', ended.result],
    ])
  })
  return codeOf(ended.state === 'succeeded')
}

/** Why a job failed, and what to do. */
export const errorLines = (error: unknown): readonly Line[] =>
  when(error as Json | null, ({ message, remedy }) => [
    ['error', message],
    ['remedy', remedy],
  ])
