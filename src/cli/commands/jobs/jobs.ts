import { jobStates } from '../../../domain/job/state.ts'
import type { Json } from '../../kit/client.ts'
import {
  type Call,
  type Command,
  choice,
  exitCodes,
  flag,
  given,
  number,
  type Options,
  repeated,
  text,
  UsageError,
} from '../../kit/command.ts'
import { field, fields, type Output, since, when } from '../../kit/output.ts'
import { codeOf, list, pathOf } from '../../kit/rows.ts'
import { errorLines, untilEnded, waitOption } from '../../kit/wait.ts'
import { effectColumns } from './effects.ts'
import { eventColumns } from './events.ts'

const args = [{ name: 'id', summary: 'the id of a job' }]

const noteOf = (job: Json): unknown => {
  const progress = job.progress as Json | null
  const error = job.error as Json | null
  if (job.state === 'running' && progress?.total) return `${progress.done} of ${progress.total}`
  if (job.state === 'waiting') return `waits for ${job.wait_reason}`
  return job.state === 'failed' ? error?.message : ''
}

const subjectOf = (job: Json): string => {
  const { type, id } = job.subject as Json
  return `${type}/${id}`
}

const printJob = (output: Output, job: Json): void => {
  output.fields([
    ['id', job.id],
    ['kind', job.kind],
    ['state', job.state],
    ['subject', subjectOf(job)],
    ['lane', `${job.lane}, priority ${job.priority}`],
    ['created', `${job.created_at} by ${job.created_by}`],
    ['started', job.started_at],
    ['finished', job.finished_at],
    ['tries', `${job.attempt} in generation ${job.generation}`],
    ['progress', job.progress],
    ...when(job.wait as Json | null, ({ detail, ends_when }) => [
      ['waits', detail],
      ['until', ends_when],
    ]),
    ...errorLines(job.error),
    ['payload', job.payload],
    ['result', job.result],
  ])
}

/** Shows a job that has ended; 0 when it succeeded. */
const shown = ({ output }: Call, job: Json): number => {
  output.show(job, () => printJob(output, job))
  return codeOf(job.state === 'succeeded')
}

const show: Command = {
  name: 'jobs show',
  summary: 'Show a job, and why it does not run',
  covers: ['GET /v1/jobs/{id}'],
  args,
  options: { wait: waitOption },
  run: async (call) => {
    if (call.values.wait) return shown(call, await untilEnded(call, call.args[0] ?? ''))
    shown(call, await call.client.get(pathOf('jobs', call.args[0])))
    return exitCodes.ok
  },
}

/** After a 202: say so, or wait for the end. */
const accepted = async (call: Call, answer: Json, said: string): Promise<number> => {
  if (!call.values.wait) {
    call.output.show(answer, () => call.output.line(said))
    return exitCodes.ok
  }
  call.output.note(said)
  const job = await untilEnded(call, String(answer.id))
  return shown(call, job)
}

const retry: Command = {
  name: 'jobs retry',
  summary: 'Run a failed or canceled job again',
  covers: ['POST /v1/jobs/{id}/:retry'],
  args,
  options: { wait: waitOption },
  run: async (call) => {
    const answer = await call.client.post(pathOf('jobs', call.args[0], ':retry'))
    return await accepted(
      call,
      answer,
      `Job ${answer.id} is ready to run again, generation ${answer.generation}.`,
    )
  },
}

const cancel: Command = {
  name: 'jobs cancel',
  summary: 'Cancel a job',
  covers: ['POST /v1/jobs/{id}/:cancel'],
  args,
  options: {
    reason: text('text', 'why; it is recorded'),
    wait: flag('wait until the job has ended; exit code 1 when it was not canceled'),
  },
  run: async (call) => {
    const { reason } = call.values
    const answer = await call.client.post(pathOf('jobs', call.args[0], ':cancel'), { reason })
    const said =
      answer.outcome === 'canceled' ? `Job ${answer.id} is canceled.` : `Job ${answer.id} was asked to end.`
    const code = await accepted(call, answer, said)
    if (!call.values.wait) return code
    const job = await call.client.get(pathOf('jobs', String(answer.id)))
    return codeOf(job.state === 'canceled')
  },
}

const adding: Options = {
  payload: text('json', 'what the kind takes ({})', { as: 'json' }),
  subject: text('type/id', 'what it is about (required)', {
    required: 'type/id, such as batch/wave-1',
  }),
  lane: text('lane', 'the lane it shares the workers in'),
  priority: number('-100 to 100; higher goes first'),
  'run-after-ms': number('not before so many milliseconds'),
  deadline: text('time', 'it fails when it has not ended by then'),
  token: repeated('name', 'an admission token it needs; may be repeated', 'tokens'),
}

const add: Command = {
  name: 'jobs add',
  summary: 'Create a job',
  covers: ['POST /v1/jobs'],
  args: [{ name: 'kind', summary: 'see drover kinds' }],
  options: { ...adding, wait: waitOption },
  run: async (call) => {
    const { payload = {}, ...fields } = given(call.values, adding)
    const [type, ...id] = String(fields.subject).split('/')
    if (!type || id.length === 0)
      throw new UsageError('--subject is required: type/id, such as batch/wave-1.')
    const subject = { type, id: id.join('/') }
    const answer = await call.client.post('/v1/jobs', { kind: call.args[0], payload, ...fields, subject })
    return await accepted(call, answer, `Job ${answer.id} is committed.`)
  },
}

export const jobCommands: readonly Command[] = [
  list({
    name: 'jobs list',
    summary: 'List jobs, the newest first',
    asks: 'GET /v1/jobs',
    empty: 'There are no jobs.',
    filters: {
      state: choice('state', jobStates, 'only in this state'),
      kind: text('kind', 'only of this kind'),
      lane: text('lane', 'only of this lane'),
      subject: text('type/id', 'only about this'),
      'created-after': text('time', 'such as 2026-11-18T14:00:00Z'),
      'created-before': text('time', 'such as 2026-11-18T15:00:00Z'),
    },
    columns: [
      ...fields('id', 'kind', 'state'),
      { title: 'subject', value: subjectOf },
      field('lane'),
      since('created_at', 'created'),
      { title: 'note', value: noteOf },
    ],
  }),
  show,
  list({
    name: 'jobs events',
    summary: 'What happened to a job, in order',
    asks: 'GET /v1/jobs/{id}/events',
    args,
    columns: eventColumns,
    empty: 'No event is kept.',
  }),
  list({
    name: 'jobs effects',
    summary: 'What a job has done outside the database',
    asks: 'GET /v1/jobs/{id}/effects',
    args,
    columns: effectColumns,
    empty: 'It has done nothing outside.',
  }),
  retry,
  cancel,
  add,
  list({
    name: 'kinds',
    summary: 'The kinds of jobs and how many there are (--json shows their payloads)',
    asks: 'GET /v1/job-kinds',
    paged: false,
    empty: 'There are no kinds.',
    columns: [
      ...fields('kind', 'title'),
      ...['ready', 'running', 'waiting', 'failed'].map((state) => ({
        title: state,
        value: ({ counts }: Json) => (counts as Json | undefined)?.[state] ?? 0,
        right: true,
      })),
      { title: 'paused', value: ({ paused }) => (paused ? 'paused' : '') },
    ],
  }),
]
