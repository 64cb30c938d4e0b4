import type { Queryable, Tx } from '../../client.ts'

export interface RequestKey {
  readonly actor: string
  readonly key: string
}

export interface StoredAnswer {
  readonly digest: Buffer
  readonly status: number | null
  readonly headers: Record<string, string> | null
  readonly body: string | null
}

/**
 * Locks the key until the transaction ends. False when another transaction has it. It does not wait: twenty equal
 * requests must not occupy twenty connections.
 */
export const tryLockRequest = async (tx: Tx, request: RequestKey): Promise<boolean> => {
  const [row] = await tx<{ got: boolean }[]>`
    select pg_try_advisory_xact_lock(hashtextextended(${`${request.actor} ${request.key}`}, 7)) as got`
  return row?.got ?? false
}

export const findAnswer = async (tx: Queryable, request: RequestKey): Promise<StoredAnswer | undefined> => {
  const [row] = await tx<StoredAnswer[]>`
    select digest, status, headers, body from api_request where actor = ${request.actor} and key = ${request.key}`
  return row
}

/** Stores the answer of a request, in the transaction of its change. */
export const storeAnswer = async (
  tx: Queryable,
  answer: RequestKey & { digest: Buffer; status: number; headers: Record<string, string>; body: string },
): Promise<void> => {
  await tx`
    insert into api_request (actor, key, digest, status, headers, body)
    values (${answer.actor}, ${answer.key}, ${answer.digest}, ${answer.status},
      ${JSON.stringify(answer.headers)}::text::jsonb, ${answer.body})`
}
