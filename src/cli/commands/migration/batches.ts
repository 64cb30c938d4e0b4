import { batchStates } from '../../../domain/migration/batch/batch-table.ts'
import { downBefore } from '../../../domain/migration/batch/downtime.ts'
import type { Json } from '../../kit/client.ts'
import {
  type Call,
  type Command,
  choice,
  exitCodes,
  flag,
  text,
  textOf,
  UsageError,
} from '../../kit/command.ts'
import { confirmIfPerson, yesOption } from '../../kit/confirm.ts'
import { type DownSeen, downLines, sayDown } from '../../kit/down.ts'
import { type GivenFile, readGiven } from '../../kit/given-file.ts'
import { mergeSettings } from '../../kit/merge-settings.ts'
import { field, fields, messagesOf, type Output, since } from '../../kit/output.ts'
import { list, matching, pathOf, show } from '../../kit/rows.ts'
import { untilEnded } from '../../kit/wait.ts'
import { remove, reset } from './batch-deletion.ts'
import { countsText, followBatch, followOptions } from './watch-batch.ts'

const args = [{ name: 'name', summary: 'the name of a batch' }]

const printBatch = (output: Output, batch: Json): void => {
  const { progress, approval } = batch as { progress: Json; approval: Json | null }
  output.fields([
    ['name', batch.name],
    ['state', batch.state],
    ...downLines(batch.down),
    ['message', batch.message],
    ['instances', `${batch.matched} matched`],
    ['entries', countsText(batch.entries)],
    ['include', batch.include_expression],
    ['defaults', batch.defaults],
    ['config', batch.config],
    ['constraints', batch.constraints],
    ['probes', batch.probes],
    ...((batch.migration_windows as Json[]) ?? []).map(
      (window) =>
        [
          `window ${window.name}`,
          `${window.start ?? 'now'} to ${window.end ?? 'any time'}, ${window.held} of ${window.capacity || 'any number'} held`,
        ] as const,
    ),
    ['copied', `${progress.bytes_done} of ${progress.bytes_total} bytes, ${progress.bytes_per_second}/s`],
    ['eta', progress.eta_seconds === null ? '' : `${progress.eta_seconds} s`],
    [
      'approval',
      approval
        ? `plan ${approval.plan_id} by ${approval.by} at ${approval.at}`
        : batch.require_approval
          ? 'required, not given'
          : 'not required',
    ],
    ['started', batch.started_at],
    ['finished', batch.finished_at],
  ])
}

/** Settings are a file: they are many, and people keep them. */
const file = {
  file: text('file', 'settings as JSON; - reads them from standard input', { required: 'settings as JSON' }),
}

const settingsFile: GivenFile = {
  option: '--file',
  holds: 'It is a file with settings as JSON, as in docs/batches.md; - reads standard input.',
  orStdin: true,
}

const settingsFrom = (call: Call): Json => {
  const path = textOf(call.values, 'file') ?? ''
  const text = readGiven(path, settingsFile)
  try {
    return JSON.parse(text) as Json
  } catch (error) {
    throw new UsageError(`--file: ${path} holds no JSON: ${(error as Error).message}`, settingsFile.holds)
  }
}

const add: Command = {
  name: 'batches add',
  summary: 'Define a batch; its instances are searched for',
  covers: ['POST /v1/batches'],
  options: file,
  run: async (call) => {
    const batch = await call.client.post('/v1/batches', settingsFrom(call))
    call.output.show(batch, () => {
      call.output.line(`The batch ${batch.name} is defined: drover batches show ${batch.name}`)
      call.output.line(`See what would happen: drover batches plan ${batch.name}`)
    })
  },
}

/** What a person may set, with what it is when a file does not name it: as it was. */
const settingNames = [
  'name',
  'include_expression',
  'defaults',
  'config',
  'migration_windows',
  'constraints',
  'probes',
  'require_approval',
]

const set: Command = {
  name: 'batches set',
  summary: 'Change the settings of a batch; what the file does not name stays, null takes a setting away',
  covers: ['PUT /v1/batches/{name}'],
  args,
  options: file,
  run: async (call) => {
    const path = pathOf('batches', call.args[0])
    const { body: before, headers } = await call.client.ask('GET', path)
    const windows = (before.migration_windows as Json[]).map(({ held: _held, ...window }) => window)
    const kept = Object.fromEntries(settingNames.map((name) => [name, before[name]]))
    const { body } = await call.client.ask('PUT', path, {
      body: mergeSettings({ ...kept, migration_windows: windows }, settingsFrom(call)),
      headers: matching(headers),
    })
    call.output.show(body, () => call.output.line(`The batch ${body.name} is changed.`))
  },
}

const start: Command = {
  name: 'batches start',
  summary: 'Start a batch, or let a stopped one go on',
  covers: ['POST /v1/batches/{name}/:start'],
  args,
  options: {
    wait: flag('follow it until every entry has ended or waits for a person'),
    ...followOptions,
  },
  run: async (call) => {
    const [name] = call.args
    const answer = await call.client.post(pathOf('batches', name, ':start'))
    if (call.values.wait !== true) {
      call.output.show(answer, () =>
        call.output.line(`The batch ${name} runs; job ${answer.job_id} makes its entries.`),
      )
      return exitCodes.ok
    }
    const ended = await untilEnded(call, String(answer.job_id))
    return ended.state === 'succeeded' ? await followBatch(call, String(name)) : notStarted(call, ended)
  },
}

/** Not all entries are there: what is there is not followed, and the batch says the same in a moment. */
const notStarted = ({ output, args }: Call, job: Json): number => {
  const error = job.error as Json | null
  output.show(job, () =>
    output.fields([
      ['batch', args[0]],
      ['start', job.state],
      ['error', error?.message ?? 'Its start was cancelled before all entries were made.'],
      ['remedy', error?.remedy ?? `Start it again: drover batches start ${args[0]}`],
    ]),
  )
  return exitCodes.failed
}

const stop: Command = {
  name: 'batches stop',
  summary: 'Stop a batch: its work lets go at the next safe point; sources that are off stay off for now',
  covers: ['POST /v1/batches/{name}/:stop'],
  args,
  options: { yes: yesOption },
  run: async (call) => {
    const path = pathOf('batches', call.args[0])
    // A stop undoes nothing, and a script that stops a wave in trouble must not be held up: only a person is asked.
    await confirmIfPerson(call, async () =>
      downBefore('stop', (await call.client.get(path)).down as DownSeen),
    )
    const batch = await call.client.post(`${path}/:stop`)
    call.output.show(batch, () => {
      call.output.line(`The batch ${batch.name} is stopped.`)
      sayDown(call, batch.down, 'stop')
    })
  },
}

export const batchCommands: readonly Command[] = [
  list({
    name: 'batches list',
    summary: 'List batches',
    asks: 'GET /v1/batches',
    empty: 'There are no batches: drover batches add',
    filters: { state: choice('state', batchStates, 'only in this state') },
    columns: [
      ...fields('name', 'state', 'target'),
      { title: 'entries', value: (row) => countsText(row.entries) },
      since('created_at', 'created'),
      field('message'),
    ],
  }),
  show({
    name: 'batches show',
    summary: 'Show a batch and how far it has come',
    asks: 'GET /v1/batches/{name}',
    args,
    print: printBatch,
  }),
  add,
  set,
  remove,
  start,
  stop,
  reset,
  {
    name: 'batches watch',
    summary: 'Follow a batch until every entry has ended or waits for a person',
    covers: ['GET /v1/batches/{name}'],
    args,
    options: followOptions,
    run: (call) => followBatch(call, call.args[0] ?? ''),
  },
  list({
    name: 'batches instances',
    summary: 'Which instances belong to a batch, which do not, and why',
    asks: 'GET /v1/batches/{name}/instances',
    args,
    filters: {
      standing: choice('standing', ['matched', 'blocked', 'conflict', 'excluded', 'any'], 'only these'),
    },
    columns: [
      ...fields('name', 'source', 'standing'),
      field('entry.state', 'entry'),
      { title: 'why', value: ({ reasons }) => messagesOf(reasons) },
    ],
    empty: 'No instance belongs to it.',
  }),
]
