import type { Tx } from '../../client.ts'

export interface KeyedJob {
  readonly idempotencyKey: string
  readonly id: string
  readonly kind: string
  readonly state: string
  readonly same: boolean
}

/** The jobs with these idempotency keys, and whether each was requested with the same kind and payload. */
export const findJobsByKey = async (
  tx: Tx,
  asked: readonly { idempotencyKey: string; kind: string; payload: string }[],
): Promise<KeyedJob[]> => tx<KeyedJob[]>`
  select j.idempotency_key, j.id, j.kind, j.state, (j.kind = a.kind and j.payload = a.payload::jsonb) as same
  from unnest(
    ${asked.map((a) => a.idempotencyKey)}::text[], ${asked.map((a) => a.kind)}::text[],
    ${asked.map((a) => a.payload)}::text[]
  ) as a(idempotency_key, kind, payload)
  join job j on j.idempotency_key = a.idempotency_key`
