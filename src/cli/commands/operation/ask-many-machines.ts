import { runPolicies } from '../../../domain/operation/applicability.ts'
import { machinePhases } from '../../../domain/operation/phase.ts'
import { ApiRefusal, type Json } from '../../kit/client.ts'
import { type Call, exitCodes, numberOf, type Option, textOf, UsageError } from '../../kit/command.ts'
import { followOperations } from './watch-operation.ts'

/** Which machines are meant, by the name that the API has for it. */
const choiceOptions = {
  target: { type: 'string', value: 'name', summary: 'of many: those of this target' },
  'on-host': { type: 'string', value: 'host', summary: 'of many: those on this host' },
  project: { type: 'string', value: 'name', summary: 'of many: those of this project' },
  power: {
    type: 'string',
    value: 'state',
    choices: ['on', 'off', 'suspended', 'unknown'],
    summary: 'of many: those that are',
  },
  phase: { type: 'string', value: 'phase', choices: machinePhases, summary: 'of many: those that do this' },
  'run-policy': { type: 'string', value: 'policy', choices: runPolicies, summary: 'of many: those with it' },
  filter: { type: 'string', value: 'cel', summary: 'of many: those that fit: docs/filters.md' },
} as const satisfies Readonly<Record<string, Option>>

export const manyOptions: Readonly<Record<string, Option>> = {
  ...choiceOptions,
  all: { type: 'boolean', summary: 'every machine there is' },
  confirm: { type: 'string', value: 'n', summary: 'for many: how many you mean' },
  yes: { type: 'boolean', summary: 'for many: however many there are' },
}

const fieldNames: Readonly<Record<string, string>> = { 'on-host': 'host', 'run-policy': 'run_policy' }

/** The choice that a person made; undefined: none. */
const choiceOf = ({ values }: Call): Json | undefined => {
  const named = Object.keys(choiceOptions).flatMap((option): [string, string][] => {
    const value = textOf(values, option)
    return value === undefined ? [] : [[fieldNames[option] ?? option, value]]
  })
  if (values.all === true) return { all: true, ...Object.fromEntries(named) }
  return named.length > 0 ? Object.fromEntries(named) : undefined
}

export const meansMany = (call: Call): boolean => choiceOf(call) !== undefined

/** Asks without a number, to be told how many fit. */
const countFirst = async (call: Call, body: Json): Promise<number> => {
  try {
    return Number((await call.client.post('/v1/operations/:bulk', { ...body, confirm_count: 0 })).matched)
  } catch (error) {
    if (!(error instanceof ApiRefusal) || error.matched === undefined) throw error
    if (call.values.yes === true) return error.matched
    const more = error.matched > error.sample.length ? ', …' : ''
    throw new UsageError(
      `${error.matched} fit: ${error.sample.join(', ')}${more}. Add --confirm ${error.matched}, or --yes.`,
    )
  }
}

/** The same for all that fit, in as many requests as that takes. */
export const askMany = async (call: Call, ask: Json): Promise<number> => {
  const { client, output, values } = call
  const choice = choiceOf(call)
  if (choice === undefined)
    throw new UsageError('Say which machines: by name, or with --target, --on-host, --filter, …, --all.')
  const body: Json = { ...ask, ...choice }
  const count =
    ask.dry_run === true ? undefined : (numberOf(values, 'confirm') ?? (await countFirst(call, body)))
  const items: Json[] = []
  let answer: Json
  let next: Json = { confirm_count: count }
  do {
    answer = await client.post('/v1/operations/:bulk', { ...body, ...next })
    items.push(...(answer.items as Json[]))
    next = { confirm_count: answer.left, cursor: answer.next_cursor }
    output.live(`${items.length} asked, ${answer.left} to go`)
  } while (typeof answer.next_cursor === 'string')
  output.live('')
  return sayOutcome(call, answer, items)
}

const sayOutcome = async (call: Call, last: Json, items: readonly Json[]): Promise<number> => {
  const { output, values } = call
  const of = (outcome: string) => items.filter((item) => item.outcome === outcome)
  const refused = of('refused')
  const counts = {
    admitted: of('admitted').length,
    superseded: of('superseded').length,
    queued: of('queued').length,
    refused: refused.length,
  }
  const wait = values.wait === true && last.dry_run !== true
  const print = () => {
    if (items.length === 0) return output.line('No machine fits what was chosen.')
    for (const { machine, message } of refused) output.line(`${machine}: ${message}`)
    const said = Object.entries(counts).map(([outcome, count]) => `${count} ${outcome}`)
    output.line(`${last.dry_run === true ? 'It would be: ' : ''}${said.join(', ')}.`)
  }
  if (wait) print()
  else output.show({ ...last, ...counts, matched: items.length, refused: counts.refused, items }, print)
  const rest = refused.length === 0 && items.length > 0 ? exitCodes.ok : exitCodes.failed
  if (!wait) return rest
  const begun = items.filter(({ operation_id: id }) => id !== null).map(({ operation_id: id }) => ({ id }))
  return Math.max(rest, await followOperations(call, begun))
}
