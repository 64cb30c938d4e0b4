import { createHash } from 'node:crypto'
import type { Context } from 'hono'
import type { Tx } from '../../../db/client.ts'
import {
  findAnswer,
  type RequestKey,
  type StoredAnswer,
  storeAnswer,
  tryLockRequest,
} from '../../../db/queries/access/api-requests.ts'
import { openAnswer, sealAnswer } from '../../sealing/sealed-answer.ts'
import { problem } from '../wire/problem.ts'
import type { ApiDeps, ApiEnv } from './env.ts'

export interface Answer<Body, Status extends number> {
  readonly status: Status
  readonly body: Body
  readonly headers?: Readonly<Record<string, string>>
}

interface OnceOptions {
  /** The answer shows a secret: it is stored sealed. */
  readonly secret?: boolean
}

const keyPattern = /^[\x21-\x7e]{1,255}$/

/**
 * Does the work of a POST in one transaction. With an Idempotency-Key the answer is stored in that same
 * transaction, so that a crash leaves neither the answer without the change nor the change without the answer;
 * the same request again gets the stored answer. Failures are not stored: nothing was changed, so the same key
 * may try again.
 */
export const once = async <Body, Status extends number>(
  c: Context<ApiEnv>,
  deps: ApiDeps,
  work: (tx: Tx) => Promise<Answer<Body, Status>>,
  options: OnceOptions = {},
): Promise<Answer<Body, Status>> => {
  const key = requestKey(c)
  const answer = (await deps.db.begin(async (tx) => {
    // It stood in line for a connection until nobody waited any more, and whoever asks again stands behind it: done
    // all the same, such work would keep the next ones from being in time, and those the next.
    if (c.get('late')) throw notBegun()
    if (key === undefined) return await work(tx)
    const request = { actor: c.get('actor').name, key }
    if (!(await tryLockRequest(tx, request))) throw inFlight()
    const digest = await digestOf(c)
    const stored = await findAnswer(tx, request)
    if (stored) return replay<Body, Status>(c, deps, request, stored, digest)
    const fresh = await work(tx)
    const body = JSON.stringify(fresh.body)
    const kept = { ...request, digest: deps.sealer.mac(digest) }
    await storeAnswer(tx, {
      ...kept,
      status: fresh.status,
      headers: { ...fresh.headers },
      body: options.secret ? sealAnswer(deps.sealer, kept, body) : body,
    })
    return fresh
  })) as Answer<Body, Status>
  for (const [name, value] of Object.entries(answer.headers ?? {})) c.header(name, value)
  return answer
}

/**
 * A part of a request that is done in many short transactions: with an Idempotency-Key each part is done once, also
 * when the process dies between two of them and the request is sent again.
 */
export const oncePart = async <Body>(
  c: Context<ApiEnv>,
  deps: ApiDeps,
  part: string,
  work: (tx: Tx) => Promise<Body>,
): Promise<Body> => {
  const key = requestKey(c)
  return (await deps.db.begin(async (tx) => {
    if (key === undefined) return await work(tx)
    // No key of a person holds a blank.
    const request = { actor: c.get('actor').name, key: `${key} ${part}` }
    if (!(await tryLockRequest(tx, request))) throw inFlight()
    const digest = await digestOf(c)
    const stored = await findAnswer(tx, request)
    if (stored) return replay<Body, number>(c, deps, request, stored, digest).body
    const fresh = await work(tx)
    const kept = { ...request, digest: deps.sealer.mac(digest) }
    await storeAnswer(tx, { ...kept, status: 200, headers: {}, body: JSON.stringify(fresh) })
    return fresh
  })) as Body
}

/** The stored answer of such a request, where it came to its end before. */
export const answeredBefore = async <Body, Status extends number>(
  c: Context<ApiEnv>,
  deps: ApiDeps,
): Promise<Answer<Body, Status> | undefined> => {
  const key = requestKey(c)
  if (key === undefined) return undefined
  const request = { actor: c.get('actor').name, key }
  const stored = await findAnswer(deps.db, request)
  return stored && replay<Body, Status>(c, deps, request, stored, await digestOf(c))
}

/** The request's Idempotency-Key, for callers that also keep it elsewhere. */
export const requestKey = (c: Context<ApiEnv>): string | undefined => {
  const key = c.req.header('idempotency-key')
  if (key !== undefined && !keyPattern.test(key))
    throw problem('validation-failed', 'Idempotency-Key must be 1 to 255 printable characters.', {
      field: 'Idempotency-Key',
      errors: [{ field: 'Idempotency-Key', message: 'must be 1 to 255 printable characters' }],
    })
  return key
}

/**
 * What makes two requests the same: method, address and body, byte for byte. Kept as a MAC, because a body may hold a
 * password: from a plain digest one could be guessed by whoever reads the database.
 */
const digestOf = async (c: Context<ApiEnv>): Promise<Buffer> => {
  const { pathname, search } = new URL(c.req.url)
  return createHash('sha256')
    .update(`${c.req.method} ${pathname}${search}\n`)
    .update(Buffer.from(await c.req.arrayBuffer()))
    .digest()
}

const replay = <Body, Status extends number>(
  c: Context<ApiEnv>,
  deps: ApiDeps,
  request: RequestKey,
  stored: StoredAnswer,
  digest: Buffer,
): Answer<Body, Status> => {
  if (!deps.sealer.isMac(digest, stored.digest))
    throw problem('idempotency-mismatch', 'This Idempotency-Key was used for another request.')
  // Stored in one transaction, so it is there whole or not at all.
  const { status, body } = stored
  if (status === null || body === null) throw inFlight()
  const text = openAnswer(deps.sealer, { ...request, digest: stored.digest }, body)
  c.header('Idempotency-Replayed', 'true')
  return { status: status as Status, body: JSON.parse(text) as Body, headers: stored.headers ?? {} }
}

const notBegun = () => problem('deadline-passed', 'It was not begun in time.', { retryAfterSeconds: 2 })

const inFlight = () =>
  problem('idempotency-in-flight', 'The first request with this Idempotency-Key is still running.', {
    retryAfterSeconds: 1,
  })
