import type { Db } from '../../client.ts'

export interface MarkerCall {
  readonly jobId: string
  readonly name: string
  readonly epoch: number
}

/** Makes a marker, or keeps the existing one; the call is recorded for the checkers in either case. */
export const insertMarker = async (world: Db, call: MarkerCall): Promise<void> => {
  await world`
    with made as (
      insert into self_test.marker (name, job_id) values (${call.name}, ${call.jobId}::uuid)
      on conflict do nothing returning 1
    )
    insert into self_test.call (job_id, name, action, epoch, pid)
    values (${call.jobId}::uuid, ${call.name},
      case when exists (select from made) then 'made' else 'found' end, ${call.epoch}, ${process.pid})`
}

/** Removes a marker, if it still exists. */
export const deleteMarker = async (world: Db, call: MarkerCall): Promise<void> => {
  await world`
    with removed as (delete from self_test.marker where name = ${call.name} returning 1)
    insert into self_test.call (job_id, name, action, epoch, pid)
    values (${call.jobId}::uuid, ${call.name},
      case when exists (select from removed) then 'removed' else 'gone' end, ${call.epoch}, ${process.pid})`
}

export const markerExists = async (world: Db, name: string): Promise<boolean> => {
  const rows = await world`select 1 from self_test.marker where name = ${name}`
  return rows.length === 1
}
