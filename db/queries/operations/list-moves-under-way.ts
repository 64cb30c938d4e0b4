import type { Queryable, Tx } from '../../client.ts'

export interface MoveUnderWay {
  /** The tokens that it holds or queues for. */
  readonly tokens: string[]
  readonly memory: number
}

/** Other moves between hosts of a target: their memory is not visible on the new hosts yet. */
export const listMovesUnderWay = async (
  db: Queryable,
  of: { readonly targetId: string; readonly but: string },
): Promise<MoveUnderWay[]> => db<MoveUnderWay[]>`
  select j.tokens, m.memory from operation o join machine m on m.id = o.machine_id join job j on j.id = o.job_id
  where m.target_id = ${of.targetId}::uuid and o.state in ('pending', 'running') and o.kind in ('migrate', 'evict')
    and o.id <> ${of.but}::uuid and j.tokens <> '{}'`

/**
 * The ASCII codes of `MOVE`: the first half of the lock under which the moves of a target choose their hosts, one
 * after another.
 */
const moveLock = 0x4d4f5645

/**
 * Until the transaction ends no other move chooses a host there: otherwise concurrent moves would all choose the same.
 */
export const lockMovesOf = async (tx: Tx, targetId: string): Promise<void> => {
  await tx`select pg_advisory_xact_lock(${moveLock}::int, hashtext(${targetId}))`
}
