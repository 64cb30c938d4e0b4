import { Hono } from 'hono'
import type { Actor, ApiDeps, ApiEnv } from '../api/env.ts'
import { assessment } from '../api/resources/assessment.ts'
import { batchActions } from '../api/resources/batch-actions.ts'
import { batchMembers } from '../api/resources/batch-members.ts'
import { batches } from '../api/resources/batches.ts'
import { certificates } from '../api/resources/certificates.ts'
import { events } from '../api/resources/events.ts'
import { instanceOverrides } from '../api/resources/instance-overrides.ts'
import { instanceVerbs } from '../api/resources/instance-verbs.ts'
import { instances } from '../api/resources/instances.ts'
import { machines } from '../api/resources/machines.ts'
import { networkLists } from '../api/resources/network-lists.ts'
import { networks } from '../api/resources/networks.ts'
import { operationCreate } from '../api/resources/operation-create.ts'
import { operations } from '../api/resources/operations.ts'
import { operationsBulk } from '../api/resources/operations-bulk.ts'
import { plans } from '../api/resources/plans.ts'
import { queue } from '../api/resources/queue.ts'
import { queueBulk } from '../api/resources/queue-bulk.ts'
import { queueVerbs } from '../api/resources/queue-verbs.ts'
import { signingKeys } from '../api/resources/signing-keys.ts'
import { hosts } from '../api/resources/site-things.ts'
import { sourceVerbs, targetVerbs } from '../api/resources/site-verbs.ts'
import { sources, targets } from '../api/resources/sites.ts'
import { waivers } from '../api/resources/waivers.ts'
import { warnings } from '../api/resources/warnings.ts'

const resources = [
  ...[...sources, sourceVerbs, ...targets, targetVerbs, hosts, networkLists, networks],
  ...[instances, instanceOverrides, instanceVerbs, waivers, assessment, warnings],
  ...[
    batches,
    batchActions,
    batchMembers,
    plans,
    queue,
    ...queueBulk,
    ...queueVerbs,
    certificates,
    signingKeys,
    events,
  ],
  ...[machines, operations, operationCreate, operationsBulk],
]

export interface AskOptions {
  readonly body?: unknown
  /** The version that was read of what is to be changed. */
  readonly version?: string
}

/** Asks the API as one actor; what it refuses is thrown as the ApiError that it would have answered. */
export type Ask = <Answer>(
  request: `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`,
  options?: AskOptions,
) => Promise<Answer>

/**
 * The API without a network between: a button of the console is validated, allowed and recorded by the same code
 * as a request of a program, with the rights of the person who pressed it.
 */
export const createAsk = (deps: ApiDeps): ((actor: Actor) => Ask) => {
  const app = new Hono<ApiEnv>()
  app.onError((error) => {
    throw error
  })
  app.use(async (c, next) => {
    c.set('actor', (c.env as unknown as { actor: Actor }).actor)
    await next()
  })
  for (const resource of resources) app.route('/v1', resource(deps))
  return (actor) =>
    async <Answer>(request: string, { body, version }: AskOptions = {}) => {
      const [method = 'GET', path = '/'] = request.split(' ')
      const headers = {
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...(version === undefined ? {} : { 'If-Match': version === '*' ? '*' : `"${version}"` }),
      }
      const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
      const response = await app.request(path, init, { actor })
      // Failures were thrown; 204 has nothing to say.
      return (response.status === 204 ? undefined : await response.json()) as Answer
    }
}

/** An address with what of its query is there. */
export const withQuery = (
  path: `/${string}`,
  query: Readonly<Record<string, string | null | undefined>>,
): `/${string}` => {
  const given = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value) given.set(name, value)
  return given.size === 0 ? path : `${path}?${given}`
}
