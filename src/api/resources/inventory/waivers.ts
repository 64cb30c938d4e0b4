import { z } from '@hono/zod-openapi'
import { v7 as uuidv7 } from 'uuid'
import type { Tx } from '../../../../db/client.ts'
import { insertAuditEvent } from '../../../../db/queries/events/insert-audit-event.ts'
import { lockInstance } from '../../../../db/queries/instances/list-instances.ts'
import {
  deleteWaiver,
  findWaiver,
  insertWaiver,
  listWaivers,
  markForReassessment,
  type WaiverLine,
} from '../../../../db/queries/instances/waiver-rows.ts'
import { findRule } from '../../../domain/inventory/rules/catalogue.ts'
import { reassess } from '../../../inventory/judge/assess.ts'
import type { ApiDeps } from '../../http/env.ts'
import { once } from '../../http/idempotency.ts'
import { listRoute } from '../../http/read-routes.ts'
import { defineRoute, idParams, json, jsonBody, momentOrNull } from '../../http/route.ts'
import { notFound, problem, validationProblem } from '../../wire/problem.ts'
import { timestamp } from '../../wire/schemas.ts'
import { toWire } from '../../wire/wire.ts'

const tag = 'Rules'

const waiverSchema = z
  .object({
    id: z.uuid(),
    rule: z.string(),
    instance_id: z.uuid().nullable().openapi({ description: 'null: the whole fleet.' }),
    instance: z.string().nullable(),
    source: z.string().nullable(),
    reason: z.string(),
    until: timestamp.nullable(),
    over: z.boolean().openapi({ description: 'Its time is over: it waives nothing.' }),
    created_by: z.string(),
    created_at: timestamp,
  })
  .openapi('RuleWaiver')

const newWaiver = z
  .strictObject({
    rule: z.string().max(100),
    instance_id: z.uuid().nullable().default(null).openapi({ description: 'null: the whole fleet.' }),
    reason: z.string().trim().min(1, 'must say why the risk is taken').max(2_048),
    until: z.iso
      .datetime({ offset: true })
      .nullable()
      .default(null)
      .openapi({ description: 'null: for good.' }),
  })
  .openapi('NewRuleWaiver', {
    example: { rule: 'no-ipv4', instance_id: null, reason: 'they get addresses by DHCP', until: null },
  })

const create = defineRoute({
  method: 'post',
  path: '/waivers',
  role: 'operator',
  tag,
  summary: 'Waive a rule for one instance, or for the whole fleet',
  description:
    'You take the responsibility: the rule stays broken and visible, but no longer counts. One instance is ' +
    'assessed anew at once; the fleet by the conductor, within a minute or so.',
  request: { body: jsonBody(newWaiver) },
  responses: { 201: json(waiverSchema, 'It is waived') },
})

const remove = defineRoute({
  method: 'delete',
  path: '/waivers/{id}',
  role: 'operator',
  tag,
  summary: 'Take a waiver back: the rule counts again',
  request: { params: idParams },
  responses: { 204: { description: 'It counts again' } },
})

const view = (row: WaiverLine) => toWire(waiverSchema, row)

const list = listRoute({
  path: '/waivers',
  tag,
  summary: 'Who took the responsibility for which broken rule',
  query: { rule: z.string().max(100).optional(), instance_id: z.uuid().optional() },
  item: waiverSchema,
  page: 'RuleWaiverPage',
  says: 'A page of waivers, the newest first',
  read: ({ db }, { rule, instance_id: instanceId }, at) => listWaivers(db, { rule, instanceId }, at),
  view,
})

const requireWaivable = (id: string): void => {
  const rule = findRule(id)
  if (!rule) throw validationProblem([{ field: 'rule', message: 'is no rule; see GET /v1/rules' }])
  if (!rule.waivable)
    throw problem('rule-not-waivable', `The rule ${id} cannot be waived.`, {
      field: 'rule',
      remedy: rule.remedy,
    })
}

/** One instance is judged in this transaction; a fleet by the conductor, in batches. */
const judgeAnew = async (tx: Tx, waiver: { rule: string; instanceId: string | null }): Promise<void> => {
  if (waiver.instanceId === null) await markForReassessment(tx, waiver.rule)
  else await reassess(tx, { instanceIds: [waiver.instanceId] })
}

const audit = (tx: Tx, row: WaiverLine, type: string, actor: string) =>
  insertAuditEvent(tx, {
    type,
    subject: { type: 'waiver', id: row.id },
    actor,
    reason: row.reason,
    detail: {
      rule: row.rule,
      instance_id: row.instanceId,
      instance: row.instance,
      until: momentOrNull(row.until),
    },
  })

const give = async (
  tx: Tx,
  asked: z.infer<typeof newWaiver>,
  { by, nowMs }: { by: string; nowMs: number },
) => {
  requireWaivable(asked.rule)
  const until = asked.until === null ? null : new Date(asked.until)
  if (until && until.getTime() <= nowMs)
    throw validationProblem([{ field: 'until', message: 'must lie in the future' }])
  if (asked.instance_id !== null && !(await lockInstance(tx, asked.instance_id)))
    throw validationProblem([{ field: 'instance_id', message: 'is no instance' }])
  const id = uuidv7()
  await insertWaiver(tx, {
    id,
    rule: asked.rule,
    instanceId: asked.instance_id,
    reason: asked.reason,
    until,
    by,
  })
  await judgeAnew(tx, { rule: asked.rule, instanceId: asked.instance_id })
  const row = await findWaiver(tx, id)
  if (!row) throw new Error('A waiver was inserted but did not come back.')
  await audit(tx, row, 'waiver.created', by)
  return { status: 201 as const, body: view(row), headers: { Location: `/v1/waivers?rule=${row.rule}` } }
}

export const waivers = (deps: ApiDeps) =>
  list(deps)
    .openapi(create, async (c) => {
      const body = c.req.valid('json')
      const by = c.get('actor').name
      const answer = await once(c, deps, (tx) => give(tx, body, { by, nowMs: deps.clock.now() }))
      return c.json(answer.body, 201)
    })
    .openapi(remove, async (c) => {
      const { id } = c.req.valid('param')
      await deps.db.begin(async (tx) => {
        const row = await findWaiver(tx, id)
        if (!row || !(await deleteWaiver(tx, id))) throw notFound('waiver', id)
        await judgeAnew(tx, row)
        await audit(tx, row, 'waiver.deleted', c.get('actor').name)
      })
      return c.body(null, 204)
    })
