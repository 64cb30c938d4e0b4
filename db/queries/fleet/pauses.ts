import type { Tx } from '../../client.ts'

export interface PauseKey {
  readonly scope: 'kind' | 'lane'
  readonly name: string
}

/** Stops new claims for a kind or a lane. A second pause changes nothing. */
export const insertPause = async (
  tx: Tx,
  pause: PauseKey & { by: string; reason: string },
): Promise<boolean> => {
  const rows = await tx`
    with paused as (
      insert into pause (scope, name, reason, paused_by)
      values (${pause.scope}, ${pause.name}, ${pause.reason}, ${pause.by}) on conflict do nothing
      returning scope, name, reason
    ), told as (
      insert into event (type, subject_type, subject_id, actor, to_state, reason)
      select 'work.paused', scope, name, ${pause.by}, 'paused', reason from paused
    )
    select 1 from paused`
  return rows.length === 1
}

export const deletePause = async (tx: Tx, key: PauseKey, by: string): Promise<boolean> => {
  const rows = await tx`
    with resumed as (
      delete from pause where scope = ${key.scope} and name = ${key.name} returning scope, name
    ), told as (
      insert into event (type, subject_type, subject_id, actor, from_state, to_state)
      select 'work.resumed', scope, name, ${by}, 'paused', 'open' from resumed
    )
    select 1 from resumed`
  return rows.length === 1
}
