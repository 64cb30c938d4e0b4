import type { Tx } from '../../client.ts'
import { jobSweep } from '../../state-words.ts'

/** The ASCII codes of `SGNL`: the first half of the lock that orders a signal against waits that begin meanwhile. */
const signalLock = 0x53474e4c

/** Orders signals and waits of one name: without it a wait could begin right after the signal has looked. */
export const lockSignal = async (tx: Tx, name: string): Promise<void> => {
  await tx`select pg_advisory_xact_lock(${signalLock}::int, hashtext(${name}))`
}

/** Ends every wait for this signal, and remembers it for a wait that is about to begin. */
export const wakeBySignal = async (tx: Tx, name: string, actor: string): Promise<number> => {
  await lockSignal(tx, name)
  const wake = jobSweep(tx, 'wake')
  const [row] = await tx<{ woken: number }[]>`
    with sent as (
      insert into signal (name, at) values (${name}, clock_timestamp())
      on conflict (name) do update set at = excluded.at, xid = excluded.xid
    ), woken as (
      update job set state = ${wake.to}, bell = 'due', run_after = now(), wait_since = null, wait_until = null,
        wait_signal = null
      where state ${wake.from} and wait_signal = ${name}
      returning id, subject_type, subject_id, wait_reason
    ), told as (
      insert into event (type, subject_type, subject_id, job_id, actor, from_state, to_state, reason, detail)
      select ${wake.tells}, subject_type, subject_id, id, ${actor}, ${wake.was}, ${wake.to}, 'signal',
        jsonb_build_object('signal', ${name}::text, 'waited_for', wait_reason)
      from woken
    )
    select count(*)::int as woken from woken`
  return row?.woken ?? 0
}

/**
 * Whether the signal was sent by a transaction that the job's claim could not see: then the wait is over before it
 * begins. Clocks would not do: a signal's time is older than its commit, and a claim may fall in between.
 */
export const wasSignalled = async (tx: Tx, name: string, jobId: string): Promise<boolean> => {
  const rows = await tx`
    select 1 from signal s join job j on j.id = ${jobId}::uuid
    where s.name = ${name} and not pg_visible_in_snapshot(s.xid, j.claimed_in)`
  return rows.length === 1
}
