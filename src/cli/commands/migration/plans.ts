import { planStandings } from '../../../domain/migration/batch/plan-document.ts'
import { many } from '../../../domain/text/sentence.ts'
import type { Json } from '../../kit/client.ts'
import {
  type Call,
  type Command,
  choice,
  exitCodes,
  flag,
  numberOf,
  type Options,
  textOf,
} from '../../kit/command.ts'
import { field, fields, type Line, messagesOf, numbers, since, spanText, when } from '../../kit/output.ts'
import { emptyText, list, pageOptions, pathOf, readPages, verb } from '../../kit/rows.ts'
import { untilEnded } from '../../kit/wait.ts'

const args = [{ name: 'name', summary: 'the name of a batch' }]
const planArgs = [...args, { name: 'plan', summary: 'the id of a plan' }]

const span = (value: unknown): string => {
  const range = value as Json | null
  return range ? `${spanText(Number(range.p50))} (P90 ${spanText(Number(range.p90))})` : 'no history yet'
}

const listed = (names: unknown) => ((names as string[] | undefined) ?? []).join(', ')

/** What a start would do with how many; what is nothing is not named, but for the first three. */
const standingsText = (totals: Json): string =>
  [
    `${totals.goes} go, ${totals.blocked} blocked, ${totals.conflict} in conflict`,
    ...(Number(totals.on_its_way ?? 0) > 0 ? [`${totals.on_its_way} on the way already`] : []),
    ...(Number(totals.in_other_batch ?? 0) > 0 ? [`${totals.in_other_batch} in another batch`] : []),
  ].join(', ')

const diffLines = (diff: Json | null): readonly Line[] =>
  when(diff, ({ since: then, added, removed, changed, more }) => [
    ['since approved', then],
    ['added', listed(added)],
    ['removed', listed(removed)],
    ['changed', (changed as Json[]).map(({ instance, what }) => `${instance}: ${listed(what)}`).join('; ')],
    ...when(Number(more ?? 0) > 0, (): Line[] => [['and more', `${more} that are not listed`]]),
  ])

const headOf = (plan: Json): readonly Line[] => {
  const totals = plan.totals as Json
  return [
    ['plan', plan.id],
    ['digest', plan.digest],
    ['planned', plan.planned_at],
    ['approved', plan.approved ? `by ${(plan.approved as Json).by}` : 'no'],
    ['instances', standingsText(totals)],
    ['bytes', totals.bytes],
    ['bytes while off', totals.bytes_while_off],
    ['copies', totals.copy_ms ? span(totals.copy_ms) : totals.forecast_note || 'no history yet'],
    ['without window', totals.without_window],
    ...Object.entries((totals.tokens as Json) ?? {}).map(([token, use]) => {
      const { needed, limit } = use as Json
      return [token, `${needed} need it, ${limit} at once`] as const
    }),
    ...diffLines(plan.diff as Json | null),
  ]
}

const itemColumns = [
  ...fields('name', 'standing'),
  { title: 'target', value: (item: Json) => (item.placement as Json | null)?.target },
  { title: 'window', value: (item: Json) => item.window ?? item.window_note },
  numbers('bytes'),
  numbers('bytes_while_off', 'while off'),
  { title: 'copy', value: (item: Json) => span(item.copy_ms) },
  { title: 'downtime', value: (item: Json) => span(item.downtime_ms) },
  { title: 'why', value: ({ reasons }: Json) => messagesOf(reasons) },
]

const itemOptions: Options = {
  standing: choice('standing', planStandings, 'only these instances'),
  ...pageOptions,
}

const usualItems = 200

/** Shows a plan with as many of its instances as were asked for. */
const showPlan = async (call: Call, name: string, id: string): Promise<number> => {
  const { output, values } = call
  const path = pathOf('batches', name, 'plans', id)
  const query = { standing: textOf(values, 'standing'), limit: numberOf(values, 'limit') ?? usualItems }
  const { page: plan, items, cursor } = await readPages(call, path, query)
  output.show({ ...plan, items }, () => {
    output.fields(headOf(plan))
    output.line()
    output.table(itemColumns, items, emptyText({ standing: query.standing }, 'It holds no instance.'))
  })
  const left = Number(plan.items_left_out ?? 0)
  if (left > 0)
    output.note(`${many(left, 'instance is', 'instances are')} counted in the plan, but not kept one by one.`)
  if (cursor !== undefined)
    output.note(`There is more: drover batches plan-show ${name} ${id} --all, or --cursor ${cursor}.`)
  return exitCodes.ok
}

export const planCommands: readonly Command[] = [
  {
    name: 'batches plan',
    summary: 'Work out what a start would do; nothing is changed',
    covers: ['POST /v1/batches/{name}/:plan'],
    args,
    options: { 'no-wait': flag('do not wait for the plan'), ...itemOptions },
    run: async (call) => {
      const [name] = call.args
      const job = await call.client.post(pathOf('batches', name, ':plan'))
      if (call.values['no-wait'] === true) {
        call.output.show(job, () => call.output.line(`Job ${job.id} plans it: drover batches plans ${name}`))
        return exitCodes.ok
      }
      const ended = await untilEnded(call, String(job.id))
      const id = (ended.result as Json | null)?.plan_id
      if (ended.state !== 'succeeded' || typeof id !== 'string') {
        call.output.show(ended, () =>
          call.output.line(
            `It could not be planned: ${(ended.error as Json | null)?.message ?? ended.state}`,
          ),
        )
        return exitCodes.failed
      }
      return await showPlan(call, String(name), id)
    },
  },
  list({
    name: 'batches plans',
    summary: 'List the plans of a batch',
    asks: 'GET /v1/batches/{name}/plans',
    args,
    empty: 'It was never planned: drover batches plan',
    columns: [
      field('id'),
      since('planned_at', 'planned'),
      field('created_by', 'by'),
      numbers('totals.goes', 'go'),
      numbers('totals.blocked', 'blocked'),
      numbers('totals.conflict', 'conflict'),
      field('approved.by', 'approved'),
    ],
  }),
  {
    name: 'batches plan-show',
    summary: 'Show a plan of a batch',
    covers: ['GET /v1/batches/{name}/plans/{id}'],
    args: planArgs,
    options: itemOptions,
    run: (call) => showPlan(call, String(call.args[0]), String(call.args[1])),
  },
  verb({
    name: 'batches approve',
    summary: 'Approve a plan of a batch; any later change voids it',
    asks: 'POST /v1/batches/{name}/:approve',
    args: planArgs,
    body: (call) => ({ plan_id: call.args[1] }),
    said: (_, call) => `Plan ${call.args[1]} is approved: drover batches start ${call.args[0]}`,
  }),
]
