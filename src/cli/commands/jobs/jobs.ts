import type { Json } from '../../kit/client.ts'
import {
  type Call,
  type Command,
  exitCodes,
  jsonOf,
  listOf,
  numberOf,
  textOf,
  UsageError,
} from '../../kit/command.ts'
import { field, since } from '../../kit/output.ts'
import { listCommand, pathOf } from '../../kit/rows.ts'
import { untilEnded } from '../../kit/wait.ts'
import { effectColumns } from './effects.ts'
import { eventColumns } from './events.ts'

const states = ['ready', 'running', 'waiting', 'succeeded', 'failed', 'canceled']
const id = { name: 'id', summary: 'the id of a job' }
const wait = {
  type: 'boolean',
  summary: 'wait until the job has ended; exit code 1 when it did not succeed',
} as const

const list = listCommand({
  name: 'jobs list',
  summary: 'List jobs, the newest first',
  covers: 'GET /v1/jobs',
  path: '/v1/jobs',
  empty: 'No job fits.',
  filters: {
    state: { type: 'string', value: 'state', choices: states, summary: 'only in this state' },
    kind: { type: 'string', value: 'kind', summary: 'only of this kind' },
    lane: { type: 'string', value: 'lane', summary: 'only of this lane' },
    subject: { type: 'string', value: 'type/id', summary: 'only about this' },
    'created-after': { type: 'string', value: 'time', summary: 'such as 2026-11-18T14:00:00Z' },
    'created-before': { type: 'string', value: 'time', summary: 'such as 2026-11-18T15:00:00Z' },
  },
  columns: [
    field('id'),
    field('kind'),
    field('state'),
    field('lane'),
    since('created_at', 'created'),
    { title: 'note', value: noteOf },
  ],
})

function noteOf(job: Json): unknown {
  const progress = job.progress as Json | null
  const error = job.error as Json | null
  if (job.state === 'running' && progress?.total) return `${progress.done} of ${progress.total}`
  if (job.state === 'waiting') return `waits for ${job.wait_reason}`
  return job.state === 'failed' ? error?.message : ''
}

const show: Command = {
  name: 'jobs show',
  summary: 'Show a job, and why it does not run',
  covers: ['GET /v1/jobs/{id}'],
  args: [id],
  options: { wait },
  run: async (call) => {
    const job = call.values.wait
      ? await untilEnded(call, call.args[0] ?? '')
      : await call.client.get(pathOf('jobs', call.args[0]))
    printJob(call, job)
    return call.values.wait ? outcomeCode(job) : exitCodes.ok
  },
}

const outcomeCode = (job: Json): number => (job.state === 'succeeded' ? exitCodes.ok : exitCodes.failed)

const printJob = ({ output }: Call, job: Json): void =>
  output.show(job, () => {
    const subject = job.subject as Json
    const why = job.wait as Json | null
    const error = job.error as Json | null
    output.fields([
      ['id', job.id],
      ['kind', job.kind],
      ['state', job.state],
      ['subject', `${subject?.type}/${subject?.id}`],
      ['lane', `${job.lane}, priority ${job.priority}`],
      ['created', `${job.created_at} by ${job.created_by}`],
      ['started', job.started_at],
      ['finished', job.finished_at],
      ['tries', `${job.attempt} in generation ${job.generation}`],
      ['progress', job.progress],
      ...(why
        ? ([
            ['waits', why.detail],
            ['until', why.ends_when],
          ] as const)
        : []),
      ...(error
        ? ([
            ['error', error.message],
            ['remedy', error.remedy],
          ] as const)
        : []),
      ['payload', job.payload],
      ['result', job.result],
    ])
  })

const events = listCommand({
  name: 'jobs events',
  summary: 'What happened to a job, in order',
  covers: 'GET /v1/jobs/{id}/events',
  path: ({ args }) => pathOf('jobs', args[0], 'events'),
  args: [id],
  columns: eventColumns,
  empty: 'No event is kept.',
})

const effects = listCommand({
  name: 'jobs effects',
  summary: 'What a job has done outside the database',
  covers: 'GET /v1/jobs/{id}/effects',
  path: ({ args }) => pathOf('jobs', args[0], 'effects'),
  args: [id],
  columns: effectColumns,
  empty: 'It has done nothing outside.',
})

/** After a 202: say so, or wait for the end. */
const accepted = async (call: Call, answer: Json, said: string): Promise<number> => {
  if (!call.values.wait) {
    call.output.show(answer, () => call.output.line(said))
    return exitCodes.ok
  }
  call.output.note(said)
  const job = await untilEnded(call, String(answer.id))
  printJob(call, job)
  return outcomeCode(job)
}

const retry: Command = {
  name: 'jobs retry',
  summary: 'Run a failed or canceled job again',
  covers: ['POST /v1/jobs/{id}/:retry'],
  args: [id],
  options: { wait },
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
  args: [id],
  options: {
    reason: { type: 'string', value: 'text', summary: 'why; it is recorded' },
    wait: { type: 'boolean', summary: 'wait until the job has ended; exit code 1 when it was not canceled' },
  },
  run: async (call) => {
    const reason = textOf(call.values, 'reason')
    const answer = await call.client.post(
      pathOf('jobs', call.args[0], ':cancel'),
      reason === undefined ? {} : { reason },
    )
    const said =
      answer.outcome === 'canceled' ? `Job ${answer.id} is canceled.` : `Job ${answer.id} was asked to end.`
    const code = await accepted(call, answer, said)
    if (!call.values.wait) return code
    const job = await call.client.get(pathOf('jobs', String(answer.id)))
    return job.state === 'canceled' ? exitCodes.ok : exitCodes.failed
  },
}

const add: Command = {
  name: 'jobs add',
  summary: 'Create a job',
  covers: ['POST /v1/jobs'],
  args: [{ name: 'kind', summary: 'see drover kinds' }],
  options: {
    payload: { type: 'string', value: 'json', summary: 'what the kind takes ({})' },
    subject: { type: 'string', value: 'type/id', summary: 'what it is about (required)' },
    lane: { type: 'string', value: 'lane', summary: 'the lane it shares the workers in' },
    priority: { type: 'string', value: 'n', summary: '-100 to 100; higher goes first' },
    'run-after-ms': { type: 'string', value: 'n', summary: 'not before so many milliseconds' },
    deadline: { type: 'string', value: 'time', summary: 'it fails when it has not ended by then' },
    token: {
      type: 'string',
      value: 'name',
      multiple: true,
      summary: 'an admission token it needs; may be repeated',
    },
    wait,
  },
  run: async (call) => {
    const { values, client } = call
    const subject = textOf(values, 'subject') ?? ''
    const slash = subject.indexOf('/')
    if (slash < 1) throw new UsageError('--subject is required: type/id, such as batch/wave-1.')
    const answer = await client.post('/v1/jobs', {
      kind: call.args[0],
      payload: jsonOf(values, 'payload') ?? {},
      subject: { type: subject.slice(0, slash), id: subject.slice(slash + 1) },
      lane: textOf(values, 'lane'),
      priority: numberOf(values, 'priority'),
      run_after_ms: numberOf(values, 'run-after-ms'),
      deadline: textOf(values, 'deadline'),
      tokens: listOf(values, 'token'),
    })
    return await accepted(call, answer, `Job ${answer.id} is committed.`)
  },
}

const kinds = listCommand({
  name: 'kinds',
  summary: 'The kinds of jobs and how many there are (--json shows their payloads)',
  covers: 'GET /v1/job-kinds',
  path: '/v1/job-kinds',
  paged: false,
  empty: 'There are no kinds.',
  columns: [
    field('kind'),
    field('title'),
    ...['ready', 'running', 'waiting', 'failed'].map((state) => ({
      title: state,
      value: (kind: Json) => (kind.counts as Json | undefined)?.[state] ?? 0,
      right: true,
    })),
    { title: 'paused', value: (kind) => (kind.paused ? 'paused' : '') },
  ],
})

export const jobCommands: readonly Command[] = [list, show, events, effects, retry, cancel, add, kinds]
