import { type OperationKind, operationKinds } from '../../../domain/operation/kinds/kinds.ts'
import { operationStates } from '../../../domain/operation/kinds/state.ts'
import type { Json } from '../../kit/client.ts'
import {
  type Call,
  type Command,
  choice,
  exitCodes,
  flag,
  jsonOf,
  type Options,
  text,
  UsageError,
} from '../../kit/command.ts'
import { field, fields, type Line, type Output, since, when } from '../../kit/output.ts'
import { list, pathOf, show, verb } from '../../kit/rows.ts'
import { noteErrors } from '../inventory/instances.ts'
import { askForEach, askMany, manyOptions, meansMany, waitOptions } from './ask-machines.ts'
import { askOf, askOptions, optionsOfKind, paramsOf } from './operation-options.ts'
import { followOperations, statusOf } from './watch-operation.ts'

const idArg = { name: 'id', summary: 'the id of an operation' }
const machinesArg = {
  name: 'machine',
  summary: 'an id, or a name that only one machine has',
  optional: true,
  many: true,
}

const summaries: Readonly<Record<OperationKind, string>> = {
  start: 'Start machines',
  stop: 'Stop machines: asks the guest; --force pulls the plug',
  restart: 'Restart machines',
  migrate: 'Move machines to another host while they run',
  evict: 'Move machines off the host that they are on',
  hibernate: 'Save the memory of machines, and switch them off',
  wake: 'Start hibernated machines from their saved memory',
  snapshot: 'Take a snapshot of machines',
  restore: 'Take machines back to a snapshot',
  clone: 'Copy a machine',
}

/** `drover stop web-01 web-02 --force --wait` */
const verbOf = (kind: OperationKind): Command => ({
  name: kind,
  summary: summaries[kind],
  covers: ['POST /v1/operations', 'POST /v1/operations/:bulk'],
  args: [machinesArg],
  options: { ...optionsOfKind(kind), ...manyOptions, ...waitOptions },
  run: (call) => askNamedOrMany(call, call.args, askOf(call.values, kind, paramsOf(call.values, kind))),
})

const askNamedOrMany = (call: Call, names: readonly string[], ask: Json): Promise<number> => {
  if (names.length === 0) return askMany(call, ask)
  if (meansMany(call)) throw new UsageError('Either name the machines, or choose many by options.')
  return askForEach(call, names, ask)
}

const slotLine = (slot: Json): string => {
  const holders = (slot.holders as Json[])
    .map(({ machine, operation_id: operation, job_id: job }) =>
      operation === null ? `job ${job}` : `${machine} (${operation})`,
    )
    .join(', ')
  return `${slot.token}: ${slot.holds} of ${slot.limit} held by ${holders}; place ${slot.position} of ${slot.waiters}`
}

const printOperation = (output: Output, operation: Json): void => {
  const told = statusOf(operation)
  const said = (words: unknown): unknown => (told.includes(String(words)) ? null : words)
  const { message, reason, state, progress } = operation
  output.line(told)
  const rows: readonly Line[] = [
    ['reason', said(message) === null ? reason : `${reason}: ${message}`],
    ['remedy', state === 'completed' ? null : operation.remedy],
    ['progress', `${progress} %${operation.past_return ? ', past its return' : ''}`],
    ...when(operation.waits as Json | null, (waits) => [
      ['waits for', said(waits.detail)],
      ['since', waits.since],
      ['ends when', waits.ends_when],
      ['at the latest', waits.until],
      ['trouble', said((waits.error as Json | null)?.message ?? '')],
      ['still active', (waits.older as string[]).join(', ')],
      ...((waits.slots as Json[] | null) ?? []).map((slot): Line => ['slot', slotLine(slot)]),
    ]),
    ['before it', operation.position],
    ['blocker', operation.blocker],
    ['supersedes', (operation.supersedes as string[]).join(', ')],
    ['superseded by', operation.superseded_by],
    ['cause', `${operation.cause}, by ${operation.created_by}`],
    [
      'deadline',
      `${operation.deadline_seconds} s from its beginning: ${operation.deadline_at ?? 'not begun'}`,
    ],
    ['in line since', operation.in_line_since],
    ['on conflict', operation.on_conflict],
    ['params', Object.keys(operation.params as Json).length === 0 ? null : operation.params],
    ['created', operation.created_at],
    ['started', operation.started_at],
    ['finished', operation.finished_at],
    ...when(operation.finished_at, (): Line[] => [
      ['let go', operation.settled_at ?? 'not yet: what it began has not stopped'],
    ]),
    ['comes back', operation.comes_back_at],
    ['job', operation.job_id],
    ['result', operation.result],
  ]
  output.fields(rows.filter(([, value]) => value !== null && value !== ''))
}

const isKind = (text: string | undefined): text is OperationKind =>
  (operationKinds as readonly (string | undefined)[]).includes(text)

const anyOptions: Options = {
  force: flag('with force'),
  params: text('json', 'what the kind needs, such as {"host": "node-2"}'),
  ...askOptions,
}

/** The first argument is the kind, and what it needs is JSON. */
const anyAsk = (call: Call): Json => {
  const [kind] = call.args
  if (!isKind(kind)) throw new UsageError(`"${kind}" is none of ${operationKinds.join(', ')}.`)
  return askOf(call.values, kind, (jsonOf(call.values, 'params') ?? {}) as Json)
}

/** `stop!` is a stop by force. */
const variantOf = (variant: unknown): string => {
  const { kind, force } = variant as Json
  return `${kind}${force ? '!' : ''}`
}

const plainCommands: readonly Command[] = [
  list({
    name: 'operations list',
    summary: 'List what was asked of machines, the newest first',
    asks: 'GET /v1/operations',
    empty: 'There are no operations.',
    filters: {
      machine: text('machine', 'only of this one: an id or a name'),
      target: text('name', 'only of machines of this target'),
      kind: text('kind,kind', 'only of these kinds'),
      state: text('state,state', `some of ${operationStates.join(', ')}`),
      reason: text('reason', 'only with this reason: docs/operations.md'),
      cause: choice('cause', ['person', 'evacuation', 'policy'], 'only what they want'),
      since: text('time', 'made then or later, such as 2026-11-18T00:00:00Z'),
      ids: text('id,id', 'exactly these, at most 200'),
      filter: text('filter', 'CEL, such as \'state == "failed" && retryable\''),
    },
    note: noteErrors,
    columns: [
      ...fields('id', 'machine'),
      { title: 'kind', value: variantOf },
      ...fields('state', 'reason'),
      { title: 'progress', value: ({ progress }) => `${progress} %`, right: true },
      field('created_by', 'by'),
      since('created_at', 'created'),
    ],
  }),
  {
    name: 'operations show',
    summary: 'Show an operation: why it waits, who is in the way',
    covers: ['GET /v1/operations/{id}'],
    args: [idArg],
    options: {
      conditions: flag('as a phase and conditions'),
      ...waitOptions,
    },
    run: async (call) => {
      const { client, output, args, values } = call
      const view = values.conditions === true ? { view: 'conditions' } : undefined
      const operation = await client.get(pathOf('operations', args[0]), view)
      if (values.wait === true) return followOperations(call, [operation])
      output.show(operation, () => (view ? output.document(operation) : printOperation(output, operation)))
      return exitCodes.ok
    },
  },
  {
    name: 'operations create',
    summary: 'Ask anything of a machine, as the API takes it',
    covers: ['POST /v1/operations'],
    args: [
      { name: 'kind', summary: operationKinds.join(', ') },
      { name: 'machine', summary: 'an id, or a name that only one machine has' },
    ],
    options: { ...anyOptions, ...waitOptions },
    run: (call) => askForEach(call, call.args.slice(1), anyAsk(call)),
  },
  {
    name: 'operations bulk',
    summary: 'Ask the same of all machines that fit',
    covers: ['POST /v1/operations/:bulk'],
    args: [{ name: 'kind', summary: operationKinds.join(', ') }],
    options: { ...anyOptions, ...manyOptions, ...waitOptions },
    run: (call) => askMany(call, anyAsk(call)),
  },
  verb({
    name: 'operations cancel',
    summary: 'Give an operation up, until the point of no return',
    asks: 'POST /v1/operations/{id}/:cancel',
    args: [idArg],
    said: statusOf,
  }),
  show({
    name: 'operations matrix',
    summary: 'Which newer operations take the place of which older ones',
    asks: 'GET /v1/operations/matrix',
    print: (output, { pairs }) => printMatrix(output, (pairs ?? []) as Json[]),
  }),
]

/** A row for each older one; a cell says what becomes of it. */
const printMatrix = (output: Output, pairs: readonly Json[]): void => {
  const newer = [...new Set(pairs.map((pair) => variantOf(pair.newer)))]
  const rows = [...new Set(pairs.map((pair) => variantOf(pair.older)))].map((older) => ({
    older,
    ...Object.fromEntries(
      pairs
        .filter((pair) => variantOf(pair.older) === older)
        .map((pair) => [variantOf(pair.newer), pair.outcome === 'supersede' ? 'yes' : '·']),
    ),
  }))
  output.table([field('older'), ...newer.map((name) => field(name))], rows, '')
}

export const operationCommands: readonly Command[] = [...operationKinds.map(verbOf), ...plainCommands]
