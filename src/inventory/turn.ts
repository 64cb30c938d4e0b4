import type { Db, Tx } from '../../db/client.ts'
import { holdLease } from '../../db/queries/hold-lease.ts'
import { FencedError } from '../errors.ts'

/** What the services of the inventory need of the job that runs them; the context of any handler fits. */
export interface Turn {
  readonly db: Db
  readonly job: { readonly id: string; readonly leaseEpoch: number }
  readonly signal: AbortSignal
  transaction<Value>(change: (tx: Tx) => Promise<Value>): Promise<Value>
  safePoint(): void
  progress(progress: {
    readonly done: number
    readonly total: number
    readonly phase?: string
    readonly rate?: number | null
  }): void
}

export const actorOf = (turn: Turn): string => `job/${turn.job.id}`

/**
 * A change that may take long, fenced at its end: the job's row stays free for the heartbeat while it is made, and
 * the commit is refused when the lease was lost on the way.
 */
export const fencedAtEnd = async <Value>(turn: Turn, change: (tx: Tx) => Promise<Value>): Promise<Value> => {
  turn.signal.throwIfAborted()
  const { id, leaseEpoch } = turn.job
  return (await turn.db.begin(async (tx) => {
    const value = await change(tx)
    if (!(await holdLease(tx, id, leaseEpoch))) throw new FencedError(id, leaseEpoch)
    return value
  })) as Value
}
