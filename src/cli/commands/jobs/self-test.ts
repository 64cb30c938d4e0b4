import { many } from '../../../domain/text/sentence.ts'
import type { Json } from '../../kit/client.ts'
import { type Call, type Command, flag, given, number, numberOf, type Options } from '../../kit/command.ts'
import { progressBar } from '../../kit/output.ts'
import { codeOf, pathOf } from '../../kit/rows.ts'

const lookMs = 200

const options: Options = {
  jobs: number('how many (100)'),
  failing: number('how many of them end as failed (0)'),
  'failing-once': number('how many of them fail once, then succeed (0)'),
  steps: number('steps of each job (0)'),
  'step-ms': number('how long a step takes, in milliseconds (0)'),
  effects: number('effects of each job (0)'),
  priority: number('-100 to 100; higher goes first (0)'),
}

const selfTest: Command = {
  name: 'self-test',
  summary: 'Run a batch of jobs that touch nothing through the whole fleet',
  covers: ['POST /v1/self-tests'],
  options: { ...options, wait: flag('show how far it is; exit code 1 when it does not end as asked') },
  run: async (call) => {
    const { client, output, values } = call
    const accepted = await client.post('/v1/self-tests', given(values, options))
    const { lane, jobs } = accepted
    if (values.wait) return await follow(call, String(lane), numberOf(values, 'failing') ?? 0)
    output.show(accepted, () =>
      output.line(
        `${many(Number(jobs), 'job is', 'jobs are')} committed: drover self-test show ${lane} --wait`,
      ),
    )
  },
}

const show: Command = {
  name: 'self-test show',
  summary: 'How far a self-test is',
  covers: ['GET /v1/self-tests/{lane}'],
  args: [{ name: 'lane', summary: 'its lane, as self-test printed it' }],
  options: {
    wait: flag('show how far it is until it is done'),
    failing: number('with --wait: how many were to fail; another number is exit code 1'),
  },
  run: async (call) => {
    const lane = call.args[0] ?? ''
    if (call.values.wait) return await follow(call, lane, numberOf(call.values, 'failing'))
    const progress = await call.client.get(pathOf('self-tests', lane))
    call.output.show(progress, () => call.output.line(lineOf(progress)))
  },
}

const countOf = (progress: Json, state: string): number =>
  Number((progress.counts as Json | undefined)?.[state] ?? 0)

const lineOf = (progress: Json): string =>
  `${progress.ended} of ${progress.jobs} ended: ${countOf(progress, 'succeeded')} succeeded, ` +
  `${countOf(progress, 'failed')} failed, ${countOf(progress, 'canceled')} canceled`

/** Shows the batch until it is done. On something that is no terminal: a line whenever another tenth is done. */
const follow = async (
  { client, output }: Call,
  lane: string,
  failing: number | undefined,
): Promise<number> => {
  const began = performance.now()
  let tenth = -1
  for (;;) {
    const progress = await client.get(pathOf('self-tests', lane))
    const [ended, jobs] = [Number(progress.ended), Number(progress.jobs)]
    const elapsedMs = performance.now() - began
    if (progress.done) {
      output.live('')
      const rate = (jobs / elapsedMs) * 1_000
      output.show(progress, () =>
        output.line(
          `${lineOf(progress)}, in ${(elapsedMs / 1_000).toFixed(1)} s (${rate.toFixed(0)} jobs/s).`,
        ),
      )
      const asAsked =
        failing === undefined ||
        (countOf(progress, 'failed') === failing && countOf(progress, 'canceled') === 0)
      return codeOf(asAsked)
    }
    if (output.isLive) output.live(progressBar(ended, jobs, elapsedMs))
    else if (Math.floor((ended / jobs) * 10) > tenth) {
      tenth = Math.floor((ended / jobs) * 10)
      output.note(progressBar(ended, jobs, elapsedMs))
    }
    await client.sleep(lookMs)
  }
}

export const selfTestCommands: readonly Command[] = [selfTest, show]
