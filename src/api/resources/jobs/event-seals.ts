import { z } from '@hono/zod-openapi'
import { findLatestHead } from '../../../../db/queries/seals/find-latest-head.ts'
import { readNewestSeal } from '../../../../db/queries/seals/verify-seals.ts'
import { type SealReport, verifySeals } from '../../../ledger/seals/verify-seals.ts'
import { parseHead } from '../../../seal/seal-head.ts'
import type { ApiDeps } from '../../http/env.ts'
import { defineRoute, json, newResource } from '../../http/route.ts'
import { readNotedHead } from '../../wire/noted-head.ts'
import { problem } from '../../wire/problem.ts'

const tag = 'Events'

const show = defineRoute({
  method: 'get',
  path: '/events/seals',
  role: 'viewer',
  tag,
  summary: 'The newest seal, and the signed head that was handed out last',
  responses: {
    200: json(
      z
        .object({
          head: z
            .object({
              line: z.string().openapi({
                description:
                  'Keep it where nobody who can write the database can change it; `:verify` takes it.',
              }),
              seq: z.int(),
              hash: z.string(),
              at: z.iso.datetime(),
              key_id: z.string(),
            })
            .nullable()
            .openapi({ description: 'None until the conductor has handed one out.' }),
          newest: z.object({ seq: z.int(), hash: z.string(), sealed_at: z.iso.datetime() }).nullable(),
          kept_days_min: z.int().openapi({
            description: 'No event is removed before this age (DROVER_EVENTS_KEPT_DAYS_MIN).',
          }),
        })
        .openapi('EventSeals'),
      'As the database tells; only `:verify` proves it',
    ),
  },
})

const verify = defineRoute({
  method: 'get',
  path: '/events/:verb{:verify}',
  role: 'operator',
  tag,
  summary: 'Check the hash chain over all events',
  description:
    'Without a head that was kept elsewhere a tail that was cut off cannot be seen; `not_shown` says what else this ' +
    'run could not show.',
  request: {
    query: z.object({
      from: z.coerce.number().int().min(1).optional(),
      head: z
        .string()
        .regex(
          /^(\d{1,15}:[0-9a-f]{64}|drover-head-1:[A-Za-z0-9_:-]{1,400})$/,
          'must be <seq>:<hash>, or a line that was handed out: drover-head-1:…',
        )
        .optional(),
      kept_days: z.coerce.number().int().min(1).max(36_500).optional().openapi({
        description: 'How long events are kept: younger ones that are gone are a fault.',
      }),
    }),
  },
  responses: {
    200: json(
      z
        .object({
          ok: z.boolean(),
          seals: z.int(),
          events: z.int(),
          pruned: z.int(),
          accepted: z.object({ to_seq: z.int(), at: z.iso.datetime() }).nullable().openapi({
            description: 'Events that were gone before statements about pruning: taken as they were.',
          }),
          head: z.object({ seq: z.int(), hash: z.string() }).nullable(),
          first_broken: z.object({ seq: z.int(), why: z.string() }).nullable(),
          not_shown: z.array(z.string()),
        })
        .openapi('SealReport'),
      'What the check found; 200 also when the chain is broken',
    ),
  },
})

const viewReport = (report: SealReport, doubt: string | undefined) => ({
  ok: report.ok,
  seals: report.seals,
  events: report.events,
  pruned: report.pruned,
  accepted: report.accepted
    ? { to_seq: report.accepted.toSeq, at: new Date(report.accepted.atMs).toISOString() }
    : null,
  head: report.head ?? null,
  first_broken: report.firstBroken ?? null,
  not_shown: doubt === undefined ? [...report.notShown] : [doubt, ...report.notShown],
})

export const eventSeals = (deps: ApiDeps) =>
  newResource()
    .openapi(show, async (c) => {
      const newest = await readNewestSeal(deps.db)
      const head = parseHead((await findLatestHead(deps.db)) ?? '')
      return c.json(
        {
          head: head
            ? {
                line: head.line,
                seq: head.seq,
                hash: head.hash,
                at: new Date(head.atMs).toISOString(),
                key_id: head.keyId,
              }
            : null,
          newest: newest
            ? {
                seq: newest.seq,
                hash: newest.hash.toString('hex'),
                sealed_at: new Date(newest.sealedAtMs).toISOString(),
              }
            : null,
          kept_days_min: deps.eventsKeptDaysMin,
        },
        200,
      )
    })
    .openapi(verify, async (c) => {
      const { from, head, kept_days: keptDays } = c.req.valid('query')
      const timeLimit = AbortSignal.timeout(deps.limits.requestMs - 500)
      const noted = head === undefined ? undefined : await readNotedHead(deps, head)
      const report = await verifySeals(deps.db, deps.sealer, {
        ...(from === undefined ? {} : { from }),
        ...(noted ? { head: noted.head } : {}),
        ...(keptDays === undefined ? {} : { keptDays }),
        floorDays: deps.eventsKeptDaysMin,
        signal: timeLimit,
      }).catch((error: unknown) => {
        if (!timeLimit.aborted) throw error
        throw problem('deadline-passed', 'The chain is too long to check in one request.', {
          remedy: 'Check it in parts: give the `head.seq` of your last good check as `from`.',
          retryAfterSeconds: 1,
        })
      })
      return c.json(viewReport(report, noted?.doubt), 200)
    })
