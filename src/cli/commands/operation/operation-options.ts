import { conflictRules } from '../../../domain/operation/admit.ts'
import { mayForce, type OperationKind } from '../../../domain/operation/kinds.ts'
import type { Json } from '../../kit/client.ts'
import { numberOf, type Option, textOf, type Values } from '../../kit/command.ts'

const host: Option = { type: 'string', value: 'host', summary: 'to this host; otherwise Drover finds one' }
const named: Option = { type: 'string', value: 'name', summary: 'what it is called' }

/** What each kind takes beside the machine, by the name that the API has for it. */
const paramOptions: Readonly<Record<OperationKind, Readonly<Record<string, Option>>>> = {
  start: {},
  stop: {},
  restart: {},
  snapshot: {
    name: named,
    memory: { type: 'boolean', summary: 'with the memory of the guest' },
    quiesce: { type: 'boolean', summary: 'the guest brings its file systems to rest first' },
  },
  restore: { snapshot: { type: 'string', value: 'name', summary: 'the snapshot to go back to' } },
  clone: {
    name: named,
    folder: { type: 'string', value: 'path', summary: 'where it is put' },
  },
  hibernate: {},
  wake: { host, cold: { type: 'boolean', summary: 'give the saved memory up, and start cold' } },
  migrate: { host },
  evict: {},
}

/** Options that an operation has whatever its kind. */
export const askOptions: Readonly<Record<string, Option>> = {
  'on-conflict': {
    type: 'string',
    value: 'rule',
    choices: conflictRules,
    summary: 'when another is at the machine',
  },
  deadline: { type: 'string', value: 'seconds', summary: 'how long it may take once it has begun' },
  'wait-seconds': { type: 'string', value: 'seconds', summary: 'how long it may wait for its turn' },
  'dry-run': { type: 'boolean', summary: 'say what would become of it, and change nothing' },
}

const force: Option = { type: 'boolean', summary: 'pull the plug' }
const forceMove: Option = { type: 'boolean', summary: 'slow the guest down until its memory is over' }

export const optionsOfKind = (kind: OperationKind): Readonly<Record<string, Option>> => ({
  ...(mayForce(kind) ? { force: kind === 'migrate' || kind === 'evict' ? forceMove : force } : {}),
  ...paramOptions[kind],
  ...askOptions,
})

/** The body of a request, without whom it is for. */
export const askOf = (values: Values, kind: string, params: Json): Json => ({
  kind,
  params,
  ...(values.force === true ? { force: true } : {}),
  on_conflict: textOf(values, 'on-conflict'),
  deadline_seconds: numberOf(values, 'deadline'),
  wait_seconds: numberOf(values, 'wait-seconds'),
  dry_run: values['dry-run'] === true,
})

export const paramsOf = (values: Values, kind: OperationKind): Json =>
  Object.fromEntries(
    Object.keys(paramOptions[kind])
      .map((name) => [name, values[name]])
      .filter(([, value]) => value !== undefined),
  )
