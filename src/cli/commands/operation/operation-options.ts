import { conflictRules } from '../../../domain/operation/admission/admit.ts'
import { mayForce, type OperationKind } from '../../../domain/operation/kinds/kinds.ts'
import type { Json } from '../../kit/client.ts'
import { choice, flag, given, number, type Options, text, type Values } from '../../kit/command.ts'

const host = text('host', 'to this host; otherwise Drover finds one')
const name = text('name', 'what it is called')

/** What each kind takes beside the machine, by the name that the API has for it. */
const paramOptions: Readonly<Record<OperationKind, Options>> = {
  start: {},
  stop: {},
  restart: {},
  snapshot: {
    name,
    memory: flag('with the memory of the guest'),
    quiesce: flag('the guest brings its file systems to rest first'),
  },
  restore: { snapshot: text('name', 'the snapshot to go back to') },
  clone: { name, folder: text('path', 'where it is put') },
  hibernate: {},
  wake: { host, cold: flag('give the saved memory up, and start cold') },
  migrate: { host },
  evict: {},
}

/** Options that an operation has whatever its kind. */
export const askOptions: Options = {
  'on-conflict': choice('rule', conflictRules, 'when another is at the machine'),
  deadline: number('how long it may take once it has begun', 'seconds', { field: 'deadline_seconds' }),
  'wait-seconds': number('how long it may wait for its turn', 'seconds'),
  'dry-run': flag('say what would become of it, and change nothing'),
}

const force = flag('pull the plug')
const forceMove = flag('slow the guest down until its memory is over')

export const optionsOfKind = (kind: OperationKind): Options => ({
  ...(mayForce(kind) ? { force: kind === 'migrate' || kind === 'evict' ? forceMove : force } : {}),
  ...paramOptions[kind],
  ...askOptions,
})

/** The body of a request, without whom it is for. */
export const askOf = (values: Values, kind: string, params: Json): Json => ({
  kind,
  params,
  ...(values.force === true ? { force: true } : {}),
  ...given(values, askOptions),
})

export const paramsOf = (values: Values, kind: OperationKind): Json =>
  Object.fromEntries(
    Object.keys(paramOptions[kind])
      .map((name) => [name, values[name]])
      .filter(([, value]) => value !== undefined),
  )
