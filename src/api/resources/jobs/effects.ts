import { z } from '@hono/zod-openapi'
import { findEffect, waiveOpenEffect } from '../../../../db/queries/effects/effects.ts'
import {
  countOpenEffects,
  listEffects,
  type OpenEffects,
  openEffectsMax,
} from '../../../../db/queries/effects/list-effects.ts'
import type { ApiDeps } from '../../http/env.ts'
import { once } from '../../http/idempotency.ts'
import { defineRoute, idParams, json, jsonBody, newResource } from '../../http/route.ts'
import { pageQuery, readCursor, toPage, uuidKey } from '../../wire/page.ts'
import { notFound, problem } from '../../wire/problem.ts'
import { listQuery, parseSubject, reasonText, subjectQuery } from '../../wire/schemas.ts'
import { effectSchema, effectStates, viewEffect } from './effect-view.ts'

const tag = 'Effects'

const list = defineRoute({
  method: 'get',
  path: '/effects',
  role: 'viewer',
  tag,
  summary: 'What Drover did outside, and what it left behind',
  description:
    'The residue report is `?state=debt,intended`. `open` counts what is begun and not known to be done, and what ' +
    'must still be undone, among all that match but for their state.',
  request: {
    query: pageQuery.extend({
      state: listQuery(effectStates),
      platform: z.string().max(64).optional(),
      kind: z.string().max(64).optional(),
      subject: subjectQuery,
    }),
  },
  responses: {
    200: json(
      z
        .object({
          items: z.array(effectSchema),
          next_cursor: z.string().nullable(),
          open: z.object({
            intended: z.int(),
            debt: z.int(),
            exact: z.boolean().openapi({
              description: `Each is counted up to ${openEffectsMax}; false when there are more.`,
            }),
          }),
        })
        .openapi('EffectReport'),
      'A page of effects, and how many are open',
    ),
  },
})

const show = defineRoute({
  method: 'get',
  path: '/effects/{id}',
  role: 'viewer',
  tag,
  summary: 'Show an effect',
  request: { params: idParams },
  responses: { 200: json(effectSchema, 'The effect') },
})

const waive = defineRoute({
  method: 'post',
  path: '/effects/{id}/:verb{:waive}',
  role: 'operator',
  tag,
  summary: 'Waive a debt',
  description: 'You take the responsibility for what is left outside; Drover stops trying to undo it.',
  request: {
    params: idParams,
    body: jsonBody(
      z
        .strictObject({ reason: reasonText })
        .openapi('Waiver', { example: { reason: 'removed by hand, ticket 4711' } }),
    ),
  },
  responses: { 200: json(effectSchema, 'It is waived') },
})

const viewOpen = ({ intended, debt }: OpenEffects) => ({
  intended: Math.min(intended, openEffectsMax),
  debt: Math.min(debt, openEffectsMax),
  exact: Math.max(intended, debt) <= openEffectsMax,
})

export const effects = (deps: ApiDeps) =>
  newResource()
    .openapi(list, async (c) => {
      const { limit, cursor, state, platform, kind, subject } = c.req.valid('query')
      const filter = { platform, kind, subject: parseSubject(subject) }
      const before = readCursor('effects', uuidKey, cursor)
      const [rows, open] = await Promise.all([
        listEffects(deps.db, { ...filter, states: state }, { before, limit: limit + 1 }),
        countOpenEffects(deps.db, filter),
      ])
      const page = toPage(rows, { list: 'effects', limit, key: (row) => row.id, item: viewEffect })
      return c.json({ ...page, open: viewOpen(open) }, 200)
    })
    .openapi(show, async (c) => {
      const { id } = c.req.valid('param')
      const effect = await findEffect(deps.db, id)
      if (!effect) throw notFound('effect', id)
      return c.json(viewEffect(effect), 200)
    })
    .openapi(waive, async (c) => {
      const { id } = c.req.valid('param')
      const { reason } = c.req.valid('json')
      const answer = await once(c, deps, async (tx) => {
        const waived = await waiveOpenEffect(tx, { id, by: c.get('actor').name, reason })
        const effect = await findEffect(tx, id)
        if (!effect) throw notFound('effect', id)
        if (!waived) throw notWaivable(effect.state)
        return { status: 200 as const, body: viewEffect(effect) }
      })
      return c.json(answer.body, 200)
    })

const notWaivable = (state: string) =>
  state === 'undone' || state === 'waived'
    ? problem('effect-settled', `The effect is ${state}; nothing is left to waive.`)
    : problem(
        'not-waivable',
        state === 'debt'
          ? 'A worker tries to undo the effect at this moment; look again in a minute.'
          : `The effect is ${state}: ${state === 'done' ? 'it is what its job was for' : 'its job is still at it'}.`,
      )
