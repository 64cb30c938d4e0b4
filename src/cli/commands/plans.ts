import type { Json } from '../client.ts'
import { type Call, type Command, exitCodes } from '../command.ts'
import { field, since, spanText } from '../output.ts'
import { untilEnded } from '../wait.ts'
import { itemsOf, listCommand, pathOf } from './lists.ts'

const nameArg = { name: 'name', summary: 'the name of a batch' }
const planArg = { name: 'plan', summary: 'the id of a plan' }

const span = (value: unknown): string => {
  const range = value as Json | null
  return range ? `${spanText(Number(range.p50))} (P90 ${spanText(Number(range.p90))})` : 'no history yet'
}

const printPlan = ({ output }: Call, plan: Json): void =>
  output.show(plan, () => {
    const totals = plan.totals as Json
    const diff = plan.diff as Json | null
    const listed = (names: unknown) => (names as string[]).join(', ')
    output.fields([
      ['plan', plan.id],
      ['digest', plan.digest],
      ['planned', plan.planned_at],
      ['approved', plan.approved ? `by ${(plan.approved as Json).by}` : 'no'],
      ['instances', `${totals.goes} go, ${totals.blocked} blocked, ${totals.conflict} in conflict`],
      ['bytes', totals.bytes],
      ['copies', totals.copy_ms ? span(totals.copy_ms) : totals.forecast_note || 'no history yet'],
      ['without window', totals.without_window],
      ...Object.entries((totals.tokens as Json) ?? {}).map(([token, use]) => {
        const { needed, limit } = use as Json
        return [token, `${needed} need it, ${limit} at once`] as const
      }),
      ...(diff
        ? ([
            ['since approved', diff.since],
            ['added', listed(diff.added)],
            ['removed', listed(diff.removed)],
            [
              'changed',
              (diff.changed as Json[]).map(({ instance, what }) => `${instance}: ${listed(what)}`).join('; '),
            ],
          ] as const)
        : []),
    ])
    output.line()
    output.table(
      [
        field('name'),
        field('standing'),
        { title: 'target', value: (item) => (item.placement as Json | null)?.target },
        { title: 'window', value: (item) => item.window ?? item.window_note },
        field('bytes', 'bytes', { right: true }),
        { title: 'copy', value: (item) => span(item.copy_ms) },
        { title: 'downtime', value: (item) => span(item.downtime_ms) },
        {
          title: 'why',
          value: (item) => ((item.reasons as Json[]) ?? []).map(({ message }) => message).join(' '),
        },
      ],
      itemsOf(plan),
      'No instance belongs to the batch.',
    )
    if (typeof plan.next_cursor === 'string') output.note('There are more instances: use --json and the API.')
  })

export const planCommands: readonly Command[] = [
  {
    name: 'batches plan',
    summary: 'Work out what a start would do; nothing is changed',
    covers: ['POST /v1/batches/{name}/:plan'],
    args: [nameArg],
    options: { 'no-wait': { type: 'boolean', summary: 'do not wait for the plan' } },
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
      printPlan(call, await call.client.get(pathOf('batches', name, 'plans', id), { limit: 200 }))
      return exitCodes.ok
    },
  },
  listCommand({
    name: 'batches plans',
    summary: 'List the plans of a batch',
    covers: 'GET /v1/batches/{name}/plans',
    path: ({ args }) => pathOf('batches', args[0], 'plans'),
    args: [nameArg],
    empty: 'It was never planned: drover batches plan',
    columns: [
      field('id'),
      since('planned_at', 'planned'),
      field('created_by', 'by'),
      field('totals.goes', 'go', { right: true }),
      field('totals.blocked', 'blocked', { right: true }),
      field('totals.conflict', 'conflict', { right: true }),
      { title: 'approved', value: (plan) => (plan.approved as Json | null)?.by },
    ],
  }),
  {
    name: 'batches plan-show',
    summary: 'Show a plan of a batch',
    covers: ['GET /v1/batches/{name}/plans/{id}'],
    args: [nameArg, planArg],
    run: async (call) => {
      const [name, id] = call.args
      printPlan(call, await call.client.get(pathOf('batches', name, 'plans', id), { limit: 200 }))
      return exitCodes.ok
    },
  },
  {
    name: 'batches approve',
    summary: 'Approve a plan of a batch; any later change voids it',
    covers: ['POST /v1/batches/{name}/:approve'],
    args: [nameArg, planArg],
    run: async (call) => {
      const [name, id] = call.args
      const batch = await call.client.post(pathOf('batches', name, ':approve'), { plan_id: id })
      call.output.show(batch, () => call.output.line(`Plan ${id} is approved: drover batches start ${name}`))
      return exitCodes.ok
    },
  },
]
