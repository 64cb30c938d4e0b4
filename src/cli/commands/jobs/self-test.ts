import type { Json } from '../../kit/client.ts'
import { type Call, type Command, exitCodes, numberOf, textOf } from '../../kit/command.ts'
import { progressBar } from '../../kit/progress-bar.ts'
import { pathOf } from '../../kit/rows.ts'

const lookMs = 200
const options = {
  jobs: 'how many (100)',
  failing: 'how many of them end as failed (0)',
  'failing-once': 'how many of them fail once, then succeed (0)',
  steps: 'steps of each job (0)',
  'step-ms': 'how long a step takes, in milliseconds (0)',
  effects: 'effects of each job (0)',
  priority: '-100 to 100; higher goes first (0)',
}

const selfTest: Command = {
  name: 'self-test',
  summary: 'Run a batch of jobs that touch nothing through the whole fleet',
  covers: ['POST /v1/self-tests'],
  options: {
    ...Object.fromEntries(
      Object.entries(options).map(([name, summary]) => [
        name,
        { type: 'string' as const, value: 'n', summary },
      ]),
    ),
    wait: { type: 'boolean', summary: 'show how far it is; exit code 1 when it does not end as asked' },
  },
  run: async (call) => {
    const { client, output, values } = call
    const body = {
      jobs: numberOf(values, 'jobs'),
      failing: numberOf(values, 'failing'),
      failing_once: numberOf(values, 'failing-once'),
      steps: numberOf(values, 'steps'),
      step_ms: numberOf(values, 'step-ms'),
      effects: numberOf(values, 'effects'),
      priority: numberOf(values, 'priority'),
    }
    const accepted = await client.post('/v1/self-tests', body)
    if (!values.wait) {
      output.show(accepted, () =>
        output.line(`${accepted.jobs} jobs are committed: drover self-test show ${accepted.lane} --wait`),
      )
      return exitCodes.ok
    }
    return await follow(call, String(accepted.lane), body.failing ?? 0)
  },
}

const show: Command = {
  name: 'self-test show',
  summary: 'How far a self-test is',
  covers: ['GET /v1/self-tests/{lane}'],
  args: [{ name: 'lane', summary: 'its lane, as self-test printed it' }],
  options: {
    wait: { type: 'boolean', summary: 'show how far it is until it is done' },
    failing: {
      type: 'string',
      value: 'n',
      summary: 'with --wait: how many were to fail; another number is exit code 1',
    },
  },
  run: async (call) => {
    const lane = call.args[0] ?? ''
    if (call.values.wait)
      return await follow(
        call,
        lane,
        textOf(call.values, 'failing') === undefined ? undefined : numberOf(call.values, 'failing'),
      )
    const progress = await call.client.get(pathOf('self-tests', lane))
    call.output.show(progress, () => call.output.line(lineOf(progress)))
    return exitCodes.ok
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
      return asAsked ? exitCodes.ok : exitCodes.failed
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
