import { runPolicies } from '../../../domain/operation/kinds/applicability.ts'
import { machinePhases } from '../../../domain/operation/kinds/phase.ts'
import { ApiRefusal, type Json } from '../../kit/client.ts'
import {
  type Call,
  choice,
  exitCodes,
  flag,
  given,
  number,
  numberOf,
  type Options,
  text,
  UsageError,
} from '../../kit/command.ts'
import { codeOf } from '../../kit/rows.ts'
import { followOperations, statusOf } from './watch-operation.ts'

export const waitOptions: Options = {
  wait: flag('wait for the end; exit code 1 when it was not done'),
  timeout: number(
    'with --wait: for so long at most; what is open then goes on, and the exit code is 1',
    'seconds',
  ),
}

/** Which machines are meant, by the name that the API has for it. */
const choiceOptions: Options = {
  target: text('name', 'of many: those of this target'),
  'on-host': text('host', 'of many: those on this host', { field: 'host' }),
  project: text('name', 'of many: those of this project'),
  power: choice('state', ['on', 'off', 'suspended', 'unknown'], 'of many: those that are'),
  phase: choice('phase', machinePhases, 'of many: those that do this'),
  'run-policy': choice('policy', runPolicies, 'of many: those with it'),
  filter: text('cel', 'of many: those that fit: docs/filters.md'),
}

export const manyOptions: Options = {
  ...choiceOptions,
  all: flag('every machine there is'),
  confirm: number('for many: how many you mean'),
  yes: flag('for many: however many there are'),
}

/** What a dry run found, in a sentence. */
export const rehearsalText = (found: Json, what: string): string => {
  const { machine, admitted, state, supersedes, before, message, remedy, cancels_entry: entry } = found
  if (!admitted) return `${what} of ${machine} would be refused. ${message} ${remedy}`
  const instead = supersedes === null ? '' : ` in the place of ${supersedes}`
  const first = entry === null ? '' : ` after giving up its migration ${entry}`
  return state === 'queued'
    ? `${what} of ${machine} would wait behind ${before}.`
    : `${what} of ${machine} would begin${instead}${first}.`
}

/** Asks the same of each machine: the refusal of one does not keep the others from it. */
export const askForEach = async (call: Call, machines: readonly string[], ask: Json): Promise<number> => {
  const { client, output, values } = call
  const answers: Json[] = []
  let refused = 0
  for (const machine of machines) {
    try {
      answers.push(await client.post('/v1/operations', { machine, ...ask }))
    } catch (error) {
      // The only one's refusal is the whole answer; of several each is told.
      if (!(error instanceof ApiRefusal) || machines.length === 1) throw error
      refused += 1
      output.note(`${machine}: ${error.message} (${error.code}) ${error.remedy}`)
    }
  }
  const rest = codeOf(refused === 0)
  if (ask.dry_run === true) {
    const all = answers.every(({ admitted }) => admitted === true)
    output.show(only(answers), () => {
      for (const answer of answers) output.line(rehearsalText(answer, String(ask.kind)))
    })
    return all ? rest : exitCodes.failed
  }
  if (values.wait === true) return Math.max(rest, await followOperations(call, answers))
  output.show(only(answers), () => {
    for (const answer of answers) output.line(statusOf(answer))
  })
  return rest
}

const only = (answers: readonly Json[]): Json =>
  answers.length === 1 && answers[0] ? answers[0] : { items: answers }

/** The choice that a person made; undefined: none. */
const choiceOf = ({ values }: Call): Json | undefined => {
  const named = Object.fromEntries(
    Object.entries(given(values, choiceOptions)).filter(([, value]) => value !== undefined),
  )
  if (values.all === true) return { all: true, ...named }
  return Object.keys(named).length > 0 ? named : undefined
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
  const chosen = choiceOf(call)
  if (chosen === undefined)
    throw new UsageError('Say which machines: by name, or with --target, --on-host, --filter, …, --all.')
  const body: Json = { ...ask, ...chosen }
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
  const rest = codeOf(refused.length === 0 && items.length > 0)
  if (!wait) return rest
  const begun = items.filter(({ operation_id: id }) => id !== null).map(({ operation_id: id }) => ({ id }))
  return Math.max(rest, await followOperations(call, begun))
}
