import { z } from '@hono/zod-openapi'
import type { Tx } from '../../../db/client.ts'
import { listEntryIds } from '../../../db/queries/list-entries.ts'
import { DroverError } from '../../errors.ts'
import { cancelChannel, nudge } from '../../ledger/nudge.ts'
import { actOnEntry, type EntryVerbAsk } from '../../migration/entry-verbs.ts'
import type { ApiDeps } from '../env.ts'
import { once } from '../idempotency.ts'
import { etagOf } from '../preconditions.ts'
import { problem, validationProblem } from '../problem.ts'
import { defineRoute, idParams, json, jsonBody, newResource } from '../route.ts'
import { entryChoice, queueTag, requireEntry } from './queue.ts'
import { entrySchema, readEntry } from './queue-answer.ts'

type Verb = EntryVerbAsk['verb']

const summaries: Readonly<Record<Verb, readonly [summary: string, description: string]>> = {
  cancel: [
    'Give an entry up',
    'A source that we switched off is started again, once the copy is proved off. `cleanup` takes the machine on the ' +
      'target away, also later: what was cancelled before is cancelled once more for it. Needs `force` in `post-import` ' +
      'and `worker-done`; a finished entry is never cancelled.',
  ],
  retry: [
    'Try an entry again that was cancelled or ended in error',
    'Everything is checked anew, and what is there of ours is taken over.',
  ],
  resolve: [
    'Decide about an entry in conflict',
    'It is checked again; with nothing changed it conflicts again. Only the include expression is let through.',
  ],
}

const noFlags = z.strictObject({})
const cancelFlags = z.strictObject({
  force: z.boolean().default(false),
  cleanup: z.boolean().default(false),
})

const verbRoute = (verb: Verb) =>
  defineRoute({
    method: 'post',
    path: `/queue/{id}/:verb{:${verb}}`,
    role: 'operator',
    tag: queueTag,
    summary: summaries[verb][0],
    description: summaries[verb][1],
    request: {
      params: idParams,
      body: {
        required: false,
        content: {
          'application/json': {
            schema: (verb === 'cancel' ? cancelFlags.openapi('EntryCancel') : noFlags) as typeof cancelFlags,
          },
        },
      },
    },
    responses: {
      202: json(
        z
          .object({
            outcome: z
              .enum(['done', 'asked'])
              .openapi({ description: '`asked`: its job lets go first, then it is done.' }),
            entry: entrySchema,
          })
          .openapi('EntryVerbAnswer'),
        'It is done, or will be when its job has let go',
      ),
    },
  })

/** More than this in one request nobody can look through. */
export const bulkMax = 1_000

const bulkShape = {
  ...entryChoice,
  ids: z.array(z.uuid()).min(1).max(bulkMax).optional(),
  confirm_count: z
    .int()
    .min(0)
    .max(bulkMax)
    .openapi({ description: 'How many you mean: refused when it is another number now.' }),
}

const outcomeSchema = z.object({
  id: z.uuid(),
  outcome: z.enum(['done', 'asked', 'refused']),
  code: z.string().nullable(),
  message: z.string().nullable(),
})

const bulkRoute = (verb: Verb) =>
  defineRoute({
    method: 'post',
    path: `/queue/:verb{:${verb}}`,
    role: 'operator',
    tag: queueTag,
    summary: `${summaries[verb][0]}: the same for many at once`,
    description:
      `At most ${bulkMax} in one request, and each is judged by itself. \`left\` is how many the time did not reach: ` +
      'send the request again for the rest.',
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
          .object({ matched: z.int(), left: z.int(), items: z.array(outcomeSchema) })
          .openapi('EntriesVerbAnswer'),
        'What became of each',
      ),
    },
  })

const nudgeAll = (deps: ApiDeps): void => {
  nudge(deps.db, cancelChannel)
  nudge(deps.db)
}

const oneVerb = (verb: Verb) => {
  const route = verbRoute(verb)
  return (deps: ApiDeps) =>
    newResource().openapi(route, async (c) => {
      const { id } = c.req.valid('param')
      const { force = false, cleanup = false } = c.req.valid('json')
      const by = c.get('actor').name
      const answer = await once(c, deps, async (tx) => {
        const { outcome } = await actOnEntry(tx, { id, by, verb, force, cleanup })
        const entry = await readEntry(tx, await requireEntry(tx, id), deps.leaseMs)
        return {
          status: 202 as const,
          body: { outcome, entry },
          headers: { ETag: etagOf(entry.version) },
        }
      })
      nudgeAll(deps)
      return c.json(answer.body, 202)
    })
}

interface BulkAsk {
  readonly verb: Verb
  readonly by: string
  readonly force: boolean
  readonly cleanup: boolean
}

/** One entry's refusal is its own; nothing was written for it. Any other failure takes all of it back. */
const actOnOne = async (tx: Tx, id: string, ask: BulkAsk): Promise<z.infer<typeof outcomeSchema>> => {
  try {
    const { outcome } = await actOnEntry(tx, { id, ...ask })
    return { id, outcome, code: null, message: null }
  } catch (error) {
    if (!(error instanceof DroverError)) throw error
    return { id, outcome: 'refused', code: error.code, message: error.message }
  }
}

const budgetPart = 0.5

const manyVerb = (verb: Verb) => {
  const route = bulkRoute(verb)
  return (deps: ApiDeps) =>
    newResource().openapi(route, async (c) => {
      const { confirm_count: count, force = false, cleanup = false, ...choice } = c.req.valid('json')
      const by = c.get('actor').name
      if (Object.values(choice).every((value) => value === undefined))
        throw validationProblem([
          { field: 'batch', message: 'say which entries are meant: batch, state, ids, …' },
        ])
      const answer = await once(c, deps, async (tx) => {
        const ids = await listEntryIds(tx, choice, bulkMax + 1)
        if (ids.length !== count)
          throw problem(
            'count-differs',
            `${ids.length > bulkMax ? `More than ${bulkMax}` : ids.length} entries fit, and you confirmed ${count}.`,
          )
        const endMs = deps.clock.monotonicMs() + deps.limits.requestMs * budgetPart
        const items: z.infer<typeof outcomeSchema>[] = []
        for (const id of ids) {
          if (items.length > 0 && deps.clock.monotonicMs() > endMs) break
          items.push(await actOnOne(tx, id, { verb, by, force, cleanup }))
        }
        return {
          status: 200 as const,
          body: { matched: ids.length, left: ids.length - items.length, items },
        }
      })
      nudgeAll(deps)
      return c.json(answer.body, 200)
    })
}

const verbs = ['cancel', 'retry', 'resolve'] as const

/** `/queue/{id}/:cancel`, `:retry`, `:resolve`, and the same for many: `/queue/:cancel`, … */
export const queueVerbs = [...verbs.map(manyVerb), ...verbs.map(oneVerb)] as const
