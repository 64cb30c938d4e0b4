import { z } from '@hono/zod-openapi'
import type { Tx } from '../../../../db/client.ts'
import { type JudgedEntry, listEntriesForFilter } from '../../../../db/queries/entries/entries-for-filter.ts'
import { chooseForVerb, type VerbChoice } from '../../../../db/queries/entries/entries-for-verb.ts'
import { many } from '../../../domain/text/sentence.ts'
import { DroverError } from '../../../errors.ts'
import { actOnEntry } from '../../../migration/entry/entry-verbs.ts'
import type { ApiDeps } from '../../http/env.ts'
import type { Slices } from '../../http/filter-turns.ts'
import { once } from '../../http/idempotency.ts'
import { defineRoute, json, jsonBody, newResource } from '../../http/route.ts'
import { entryFilter, type FleetTest } from '../../lists/inventory-filter.ts'
import { scan, scanFields, scanShape } from '../../lists/scan.ts'
import { apiLimits } from '../../wire/api-limits.ts'
import { readCursor, uuidKey, writeCursor } from '../../wire/page.ts'
import { problem, validationProblem } from '../../wire/problem.ts'
import { entryChoice, queueTag } from './queue.ts'
import { cancelFlags, entryVerbNames, nudgeAll, type Verb, verbSummaries } from './queue-verbs.ts'

const bulkMax = apiLimits.bulkEntries

const bulkShape = {
  ...entryChoice,
  ids: z
    .array(z.uuid())
    .min(1)
    .max(bulkMax)
    .optional()
    .openapi({ description: 'Exactly these: one that the verb cannot be done to is refused by itself.' }),
  cursor: z.string().max(400).optional().openapi({ description: '`next_cursor` of the request before.' }),
  confirm_count: z.int().min(0).openapi({
    description:
      'How many you mean: refused when it is another number now. With a cursor: how many were left.',
  }),
}

const outcomeSchema = z.object({
  id: z.uuid(),
  outcome: z.enum(['done', 'asked', 'refused']),
  code: z.string().nullable(),
  message: z.string().nullable(),
})
type Outcome = z.infer<typeof outcomeSchema>

const bulkRoute = (verb: Verb) =>
  defineRoute({
    method: 'post',
    path: `/queue/:verb{:${verb}}`,
    role: 'operator',
    tag: queueTag,
    summary: `${verbSummaries[verb][0]}: the same for many at once`,
    description:
      `Those are meant that the verb is possible for and that nobody has asked it of yet. All that fit are counted, ` +
      `at most ${bulkMax} are acted on in one request, each by itself. \`left\` is how many are behind these: send ` +
      'the request again with `next_cursor` as its `cursor` and `left` as its `confirm_count`.',
    request: {
      body: jsonBody(
        (verb === 'cancel'
          ? z.strictObject({ ...bulkShape, ...cancelFlags.shape }).openapi('EntriesCancel')
          : z.strictObject(bulkShape).openapi('EntriesChoice')) as z.ZodObject<
          typeof bulkShape & typeof cancelFlags.shape
        >,
      ),
    },
    responses: {
      200: json(
        z
          .object({
            matched: z.int().openapi({ description: 'That fit; with a cursor, behind it.' }),
            left: z.int(),
            next_cursor: z.string().nullable(),
            items: z.array(outcomeSchema),
            ...scanShape,
          })
          .openapi('EntriesVerbAnswer'),
        'What became of each',
      ),
    },
  })

interface BulkAsk {
  readonly verb: Verb
  readonly by: string
  readonly force: boolean
  readonly cleanup: boolean
}

/** One entry's refusal is its own; nothing was written for it. Any other failure takes all of it back. */
const actOnOne = async (tx: Tx, id: string, ask: BulkAsk): Promise<Outcome> => {
  try {
    const { outcome } = await actOnEntry(tx, { id, ...ask })
    return { id, outcome, code: null, message: null }
  } catch (error) {
    if (!(error instanceof DroverError)) throw error
    return { id, outcome: 'refused', code: error.code, message: error.message }
  }
}

interface Chosen {
  readonly matched: number
  readonly ids: readonly string[]
  readonly scanned: ReturnType<typeof scanFields>
}

/** Of the time of the request: for finding out which are meant, and until the last of them is begun. */
const lookPart = 0.3
const actPart = 0.6

interface Asked {
  readonly choice: VerbChoice
  readonly after: string | undefined
  readonly filter: FleetTest<JudgedEntry> | undefined
  readonly slices: Slices | undefined
}

/** A filter has to be asked of every entry before anybody can say how many fit. */
const chooseByFilter = async (
  deps: ApiDeps,
  tx: Tx,
  { choice, after, filter, slices }: Asked & { filter: FleetTest<JudgedEntry> },
): Promise<Chosen> => {
  const ids: string[] = []
  const outcome = await scan<JudgedEntry>({
    clock: deps.clock,
    budgetMs: deps.limits.requestMs * lookPart,
    slices,
    limit: Number.POSITIVE_INFINITY,
    after,
    read: (from, limit) => listEntriesForFilter(tx, choice, { after: from, limit, without: filter.without }),
    test: filter.test,
    onMatch: ({ id }) => ids.length < deps.limits.bulkEntries && ids.push(id),
  })
  if (outcome.next !== null)
    throw problem(
      'filter-too-wide',
      `The filter was asked of ${many(outcome.scanned, 'entry', 'entries')}, and there are more than the time of one request is for.`,
      { field: 'filter' },
    )
  return { matched: outcome.matched, ids, scanned: scanFields(outcome) }
}

const choose = async (deps: ApiDeps, tx: Tx, { filter, ...asked }: Asked): Promise<Chosen> => {
  const { choice, after } = asked
  if (filter) return await chooseByFilter(deps, tx, { ...asked, filter })
  const { matched, ids } = await chooseForVerb(tx, choice, { after, limit: deps.limits.bulkEntries })
  return { matched, ids, scanned: { scanned: matched, error_count: 0, errors: [] } }
}

const requireCount = ({ matched }: Chosen, confirmed: number): void => {
  if (matched === confirmed) return
  const fit = many(matched, 'entry fits', 'entries fit')
  throw problem('count-differs', `${fit}, and you confirmed ${confirmed}.`)
}

const summarize = (list: string, { matched, scanned }: Chosen, items: Outcome[]) => {
  const left = matched - items.length
  const last = items.at(-1)
  const next_cursor = left > 0 && last ? writeCursor(list, last.id) : null
  return { matched, left, next_cursor, items, ...scanned }
}

const manyVerb = (verb: Verb) => {
  const route = bulkRoute(verb)
  const list = `bulk-${verb}`
  return (deps: ApiDeps) =>
    newResource().openapi(route, async (c) => {
      const endMs = deps.clock.monotonicMs() + deps.limits.requestMs * actPart
      const body = c.req.valid('json')
      const { confirm_count: count, cursor, filter: text, force = false, cleanup = false, ...which } = body
      if (Object.values({ ...which, text }).every((value) => value === undefined))
        throw validationProblem([
          { field: 'batch', message: 'say which entries are meant: batch, state, filter, ids, …' },
        ])
      const after = readCursor(list, uuidKey, cursor)
      const ask = { verb, by: c.get('actor').name, force, cleanup }
      // Its turn is waited for outside the transaction: who waits holds no connection.
      const answer = await deps.filters.ask({ actor: ask.by, filter: text }, (slices) => {
        const asked = { choice: { ...which, verb }, after, filter: entryFilter(text), slices }
        return once(c, deps, async (tx) => {
          const chosen = await choose(deps, tx, asked)
          requireCount(chosen, count)
          const items: Outcome[] = []
          for (const id of chosen.ids) {
            if (items.length > 0 && deps.clock.monotonicMs() > endMs) break
            items.push(await actOnOne(tx, id, ask))
          }
          return { status: 200 as const, body: summarize(list, chosen, items) }
        })
      })
      nudgeAll(deps)
      return c.json(answer.body, 200)
    })
}

/** `/queue/:cancel`, `:retry`, `:resolve` for many entries at once. */
export const queueBulk = entryVerbNames.map(manyVerb)
