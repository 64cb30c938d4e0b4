import { z } from '@hono/zod-openapi'
import type { Context } from 'hono'
import type { Tx } from '../../../../db/client.ts'
import {
  type ChosenMachine,
  chooseMachines as readChosen,
} from '../../../../db/queries/machines/choose-machines.ts'
import { listMachines, type MachineLine } from '../../../../db/queries/machines/list-machines.ts'
import { many } from '../../../domain/text/sentence.ts'
import {
  type AskedOperation,
  askOperation,
  type OperationAsk,
} from '../../../operation/admission/ask-operation.ts'
import type { RefusedAsk } from '../../../operation/admission/record-refusal.ts'
import type { ApiDeps, ApiEnv } from '../../http/env.ts'
import type { Slices } from '../../http/filter-turns.ts'
import { answeredBefore, once, oncePart } from '../../http/idempotency.ts'
import { defineRoute, json, jsonBody, newResource } from '../../http/route.ts'
import { scan, scanFields } from '../../lists/scan.ts'
import { apiLimits } from '../../wire/api-limits.ts'
import { readCursor, uuidKey } from '../../wire/page.ts'
import { problem, validationProblem } from '../../wire/problem.ts'
import { chooseMachines, machineChoice } from './machines.ts'
import { operationShape, readAsk } from './operation-ask.ts'
import { isRefusal, rehearse, tellWorkers, writeRefusals } from './operation-create.ts'
import { operationTag } from './operations.ts'
import {
  type Answer,
  answerSchema,
  bulkList,
  type Chosen,
  type Outcome,
  summarize,
} from './operations-bulk-answer.ts'

const bulkMax = apiLimits.bulkMachines
const shownNames = 10

const bulk = defineRoute({
  method: 'post',
  path: '/operations/:verb{:bulk}',
  role: 'operator',
  tag: operationTag,
  summary: 'Ask the same of many machines at once',
  description:
    `All machines that fit are counted; another number than \`confirm_count\`, or none, is refused with the count and ` +
    `some names. At most ${bulkMax} are asked in one request, in the order of their ids, each by itself: what is ` +
    'refused for one keeps nothing from the others. `left` is how many are behind these: send the request again with ' +
    '`next_cursor` as its `cursor` and `left` as its `confirm_count`. A dry run needs no confirmation.',
  request: {
    body: jsonBody(
      z
        .strictObject({
          ...operationShape,
          ...machineChoice,
          ids: z.array(z.uuid()).min(1).max(bulkMax).optional().openapi({ description: 'Exactly these.' }),
          all: z.literal(true).optional().openapi({ description: 'Every machine there is.' }),
          cursor: z
            .string()
            .max(400)
            .optional()
            .openapi({ description: '`next_cursor` of the request before.' }),
          confirm_count: z
            .int()
            .min(0)
            .optional()
            .openapi({ description: 'How many you mean; with a cursor: how many were left.' }),
        })
        .openapi('OperationsBulk', {
          example: { kind: 'stop', target: 'oslo', host: 'node-1', confirm_count: 12 },
        }),
    ),
  },
  responses: { 200: json(answerSchema, 'What became of each') },
})

type Body = z.infer<(typeof bulk)['request']['body']['content']['application/json']['schema']>

/** Of the time of the request: for finding out which are meant, and until the last of them is asked. */
const lookPart = 0.3
const actPart = 0.7

/** Whatever is wrong with it is said before anything is counted. */
const requireSense = (body: Body): void => {
  if (body.kind !== 'clone') return
  const message =
    'copies of many machines cannot share one name: ask for each by itself (POST /v1/operations)'
  throw validationProblem([{ field: 'kind', message }])
}

const requireChoice = (body: Body): void => {
  const names = [...Object.keys(machineChoice), 'ids', 'all'] as (keyof Body)[]
  if (names.some((name) => body[name] !== undefined)) return
  throw validationProblem([{ field: 'target', message: `say which machines are meant: ${names.join(', ')}` }])
}

/** Which are meant; a filter has to be asked of every machine before anybody can say how many fit. */
const choose = (deps: ApiDeps, body: Body, actor: string): Promise<Chosen> =>
  deps.filters.ask({ actor, filter: body.filter }, (slices) => chooseAll(deps, body, slices))

const chooseAll = async (deps: ApiDeps, body: Body, slices: Slices | undefined): Promise<Chosen> => {
  const after = readCursor(bulkList, uuidKey, body.cursor)
  const { filter, test } = chooseMachines(body)
  const limit = deps.limits.bulkMachines
  if (!test) {
    const found = await readChosen(deps.db, { ...filter, ids: body.ids }, { after, limit })
    return { ...found, scanned: { scanned: found.matched, error_count: 0, errors: [] } }
  }
  const ids = body.ids && new Set(body.ids)
  const chosen: ChosenMachine[] = []
  const outcome = await scan<MachineLine>({
    clock: deps.clock,
    budgetMs: deps.limits.requestMs * lookPart,
    slices,
    limit: Number.POSITIVE_INFINITY,
    after,
    read: (from, rows) => listMachines(deps.db, filter, { after: from, limit: rows }),
    test: (line) => (ids?.has(line.id) ?? true) && test(line),
    onMatch: ({ id, name }) => chosen.length < limit && chosen.push({ id, name }),
  })
  if (outcome.next !== null)
    throw problem(
      'filter-too-wide',
      `The filter was asked of ${many(outcome.scanned, 'machine')}, and there are more than the time of one request is for.`,
      {
        field: 'filter',
        remedy: 'Say the target or the host beside the filter, so that it is asked of fewer.',
      },
    )
  return { matched: outcome.matched, chosen, scanned: scanFields(outcome) }
}

const requireCount = ({ matched, chosen }: Chosen, confirmed: number | undefined): void => {
  if (matched === confirmed) return
  const fit = many(matched, 'machine fits', 'machines fit')
  const said = confirmed === undefined ? 'you confirmed no number' : `you confirmed ${confirmed}`
  throw problem('count-differs', `${fit}, and ${said}.`, {
    field: 'confirm_count',
    remedy: 'Look at the machines, and confirm the number that fits now.',
    counted: { matched, sample: chosen.slice(0, shownNames).map(({ name }) => name) },
  })
}

/** What became of one machine, and what is to be done about it after the commit. */
interface Done {
  readonly outcome: Outcome
  readonly asked?: AskedOperation
  readonly refused?: RefusedAsk
}

const outcomeOf = (machine: ChosenMachine, part: Partial<Outcome> & Pick<Outcome, 'outcome'>): Outcome => ({
  machine_id: machine.id,
  machine: machine.name,
  operation_id: null,
  supersedes: null,
  reason: null,
  message: null,
  blocker: null,
  ...part,
})

const admittedAs = (state: 'pending' | 'queued', supersedes: string | null): Outcome['outcome'] => {
  if (state === 'queued') return 'queued'
  return supersedes === null ? 'admitted' : 'superseded'
}

const askOne = async (tx: Tx, machine: ChosenMachine, ask: OperationAsk): Promise<Done> => {
  try {
    // What is refused leaves nothing behind, and its answer is stored.
    const asked = (await tx.savepoint((part) => askOperation(part as Tx, ask))) as AskedOperation
    const { state, supersedes } = asked.admission
    const operation = asked.operation.id
    const outcome = admittedAs(state, supersedes)
    return { asked, outcome: outcomeOf(machine, { outcome, operation_id: operation, supersedes }) }
  } catch (error) {
    if (!isRefusal(error)) throw error
    const blocker = typeof error.detail?.blocker === 'string' ? error.detail.blocker : null
    const said = { reason: error.code, message: error.message, blocker }
    return { refused: { ask, error }, outcome: outcomeOf(machine, { outcome: 'refused', ...said }) }
  }
}

const rehearseOne = async (tx: Tx, machine: ChosenMachine, ask: OperationAsk): Promise<Done> => {
  const found = await rehearse(tx, ask)
  if (found.admitted) {
    const { state, supersedes } = found
    return { outcome: outcomeOf(machine, { outcome: admittedAs(state, supersedes), supersedes }) }
  }
  const { reason, blocker, error } = found
  return {
    outcome: outcomeOf(machine, { outcome: 'refused', reason, blocker, message: error?.message ?? null }),
  }
}

/** Each machine in a transaction of its own: a large number must not hold up those who ask of one. */
const askAll = async (
  c: Context<ApiEnv>,
  deps: ApiDeps,
  {
    body,
    chosen,
    endMs,
  }: { readonly body: Body; readonly chosen: readonly ChosenMachine[]; readonly endMs: number },
): Promise<Outcome[]> => {
  const told = readAsk(body, c.get('actor').name)
  const items: Outcome[] = []
  const refused: RefusedAsk[] = []
  try {
    for (const machine of chosen) {
      if (items.length > 0 && deps.clock.monotonicMs() > endMs) break
      const ask = { ...told, machineId: machine.id }
      let done: Done | undefined
      const outcome = await oncePart(c, deps, machine.id, async (tx) => {
        done = await (body.dry_run ? rehearseOne : askOne)(tx, machine, ask)
        return done.outcome
      })
      items.push(outcome)
      if (done?.asked) tellWorkers(deps, [done.asked])
      if (done?.refused) refused.push(done.refused)
    }
  } finally {
    await writeRefusals(c, deps, refused)
  }
  return items
}

/** `POST /operations/:bulk`. */
export const operationsBulk = (deps: ApiDeps) =>
  newResource().openapi(bulk, async (c) => {
    const endMs = deps.clock.monotonicMs() + deps.limits.requestMs * actPart
    const body = c.req.valid('json')
    requireChoice(body)
    requireSense(body)
    readAsk(body, c.get('actor').name)
    const before = await answeredBefore<Answer, 200>(c, deps)
    if (before) return c.json(before.body, 200)
    const found = await choose(deps, body, c.get('actor').name)
    if (!body.dry_run) requireCount(found, body.confirm_count)
    const items = await askAll(c, deps, { body, chosen: found.chosen, endMs })
    const answer = await once(c, deps, () =>
      Promise.resolve({ status: 200 as const, body: summarize(items, found, body.dry_run) }),
    )
    return c.json(answer.body, 200)
  })
