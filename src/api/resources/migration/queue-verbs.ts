import { z } from '@hono/zod-openapi'
import { cancelChannel, nudge } from '../../../ledger/jobs/nudge.ts'
import { actOnEntry, type EntryVerbAsk } from '../../../migration/entry/entry-verbs.ts'
import type { ApiDeps } from '../../http/env.ts'
import { once } from '../../http/idempotency.ts'
import { defineRoute, idParams, json, newResource } from '../../http/route.ts'
import { etagOf } from '../../wire/preconditions.ts'
import { queueTag, requireEntry } from './queue.ts'
import { entrySchema, readEntry } from './queue-view.ts'

export type Verb = EntryVerbAsk['verb']

/** What a verb does, in a line and in a paragraph. */
export const verbSummaries: Readonly<Record<Verb, readonly [summary: string, description: string]>> = {
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
    'Where its include expression was what conflicted, it is let through for good: it is placed and copied, and its source ' +
      'is switched off as soon as its window allows. Otherwise everything is verified once more, and with nothing changed ' +
      'it conflicts again. `choices` of the entry say which it is, and when.',
  ],
}

const noFlags = z.strictObject({})
export const cancelFlags = z.strictObject({
  force: z.boolean().default(false),
  cleanup: z.boolean().default(false),
})

const verbRoute = (verb: Verb) =>
  defineRoute({
    method: 'post',
    path: `/queue/{id}/:verb{:${verb}}`,
    role: 'operator',
    tag: queueTag,
    summary: verbSummaries[verb][0],
    description: verbSummaries[verb][1],
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

export const nudgeAll = (deps: ApiDeps): void => {
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

export const entryVerbNames = ['cancel', 'retry', 'resolve'] as const

/** `/queue/{id}/:cancel`, `:retry`, `:resolve`. */
export const queueVerbs = entryVerbNames.map(oneVerb)
