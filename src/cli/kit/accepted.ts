import type { Json } from './client.ts'
import { type Call, exitCodes, type Option } from './command.ts'
import { untilEnded } from './wait.ts'

export const waitOption: Option = {
  type: 'boolean',
  summary: 'wait until the job has ended; exit code 1 when it did not succeed',
}

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
  const error = ended.error as Json | null
  output.show(ended, () => {
    output.fields([
      ['job', ended.id],
      ['state', ended.state],
      ...(error
        ? ([
            ['error', error.message],
            ['remedy', error.remedy],
          ] as const)
        : []),
      ['result', ended.result],
    ])
  })
  return ended.state === 'succeeded' ? exitCodes.ok : exitCodes.failed
}
