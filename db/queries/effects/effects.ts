import { leftBehind } from '../../../src/domain/job/ends.ts'
import type { Queryable, Tx } from '../../client.ts'
import type { EffectRow } from '../../schema/effect.ts'
import { openJobAbout, runningJobAbout } from '../jobs/open-job-about.ts'

export interface EffectIntent {
  readonly id: string
  readonly jobId: string
  readonly epoch: number
  readonly kind: string
  readonly platform: string
  readonly name: string
  /** JSON text; null: nothing to undo. */
  readonly undo: string | null
}

/**
 * Records an intent, or finds the one of an earlier try. An effect that was undone is intended again; so is a waived
 * one, but under its old id: what a person took over may still exist and has to be looked for. The caller has proved
 * the lease in the same transaction.
 */
export const intendEffect = async (
  tx: Tx,
  intent: EffectIntent,
): Promise<{ effect: EffectRow; isNew: boolean }> => {
  const [row] = await tx<(EffectRow & { isNew: boolean })[]>`
    insert into effect (id, job_id, subject_type, subject_id, epoch, kind, platform, name, undo)
    select ${intent.id}::uuid, j.id, j.subject_type, j.subject_id, ${intent.epoch}, ${intent.kind},
      ${intent.platform}, ${intent.name}, ${intent.undo}::text::jsonb
    from job j where j.id = ${intent.jobId}::uuid
    on conflict (job_id, kind, name) do update set
      epoch = excluded.epoch, updated_at = now(),
      undo = case when effect.state in ('undone', 'waived') then excluded.undo else effect.undo end,
      external_id = case when effect.state in ('undone', 'waived') then null else effect.external_id end,
      id = case when effect.state = 'undone' then excluded.id else effect.id end,
      -- A debt of a job that runs is its undoing cut short: it is intended again, and looked for before it is made.
      state = case when effect.state in ('undone', 'waived', 'debt') then 'intended' else effect.state end,
      next_try_at = null,
      attempts = case when effect.state in ('undone', 'waived') then 0 else effect.attempts end,
      waived_by = null, waived_reason = null, error = null
    returning *, id = ${intent.id}::uuid as is_new`
  if (!row) throw new Error(`Job ${intent.jobId} vanished while its lease was held.`)
  const { isNew, ...effect } = row
  return { effect, isNew }
}

/** Records that an effect happened, only while the job's epoch holds. */
export const markEffectDone = async (
  db: Queryable,
  effect: { id: string; jobId: string; epoch: number; externalId: string | null; undo: string | null },
): Promise<boolean> => {
  const rows = await db`
    with held as (
      select 1 from job where id = ${effect.jobId}::uuid and lease_epoch = ${effect.epoch} and state = 'running' for share
    )
    update effect e set state = 'done', external_id = ${effect.externalId}, epoch = ${effect.epoch},
      undo = coalesce(${effect.undo}::text::jsonb, e.undo), error = null, done_at = coalesce(e.done_at, now()),
      updated_at = now()
    from held where e.id = ${effect.id}::uuid and e.state in ('intended', 'done') returning 1`
  return rows.length === 1
}

/**
 * Records that an intent was certainly refused and did nothing. An intent with an error is such a one; the next try
 * clears the error before it asks again.
 */
export const noteRefusedIntent = async (
  db: Queryable,
  effect: { id: string; jobId: string; epoch: number; error: string },
): Promise<void> => {
  await db`
    with held as (
      select 1 from job where id = ${effect.jobId}::uuid and lease_epoch = ${effect.epoch} and state = 'running' for share
    )
    update effect e set error = ${effect.error}::text::jsonb, updated_at = now()
    from held where e.id = ${effect.id}::uuid and e.state = 'intended'`
}

/**
 * An undo begins: from here on nobody knows whether the effect stands, and a checkpoint that relies on it is void.
 * Without this, a retry after a crash, or a redrive, would build on what is gone. False: a person has taken it over,
 * or it is settled.
 */
export const beginUndo = async (tx: Tx, effect: { id: string; jobId: string }): Promise<boolean> => {
  const [open] = await tx<{ state: string }[]>`
    select state from effect where id = ${effect.id}::uuid and state in ('intended', 'done', 'debt')
    for no key update`
  if (!open) return false
  await tx`
    with unsure as (
      update effect set state = 'intended', updated_at = now() where id = ${effect.id}::uuid and state = 'done'
    )
    update job set checkpoint = null where id = ${effect.jobId}::uuid and checkpoint is not null`
  return true
}

/** Records that an effect was undone, or that the undo failed: then it is a debt, due after `delayMs`. */
export const settleEffect = async (
  db: Queryable,
  settled:
    | { id: string; actor: string; outcome: 'undone' }
    | { id: string; actor: string; outcome: 'debt'; error: string; delayMs: number },
): Promise<void> => {
  const debt = settled.outcome === 'debt' ? settled : undefined
  await db`
    with before as (select id, state from effect where id = ${settled.id}::uuid),
    settled as (
      update effect set state = ${settled.outcome}, updated_at = now(),
        -- A try to settle a debt was counted when it was taken up.
        attempts = attempts + case when ${debt ? 'debt' : 'undone'} = 'debt' and state <> 'debt' then 1 else 0 end, error = ${debt?.error ?? null}::text::jsonb,
        next_try_at = case when ${settled.outcome} = 'debt'
                           then now() + ${debt?.delayMs ?? 0}::float8 * interval '1 millisecond' end
      where id = ${settled.id}::uuid and state in ('intended', 'done', 'debt')
      returning *
    )
    insert into event (type, subject_type, subject_id, job_id, actor, from_state, to_state, detail)
    select ${`effect.${settled.outcome}`}, subject_type, subject_id, job_id, ${settled.actor}, before.state,
      settled.state, jsonb_build_object('effect', settled.id, 'kind', kind, 'name', name, 'platform', platform)
    from settled join before using (id)`
}

/** The open effects of a job, the latest first: the order of their undo. */
export const findOpenEffects = async (db: Queryable, jobId: string): Promise<EffectRow[]> => db<EffectRow[]>`
  select * from effect where job_id = ${jobId}::uuid and state in ('intended', 'done') order by created_at desc, id desc`

export const findEffect = async (db: Queryable, effectId: string): Promise<EffectRow | undefined> => {
  const [row] = await db<EffectRow[]>`select * from effect where id = ${effectId}::uuid`
  return row
}

/** Turns the effects of jobs that ended without a worker into debts, due after `delayMs`. */
export const turnEffectsIntoDebt = async (
  tx: Tx,
  jobIds: readonly string[],
  debt: { why: string; delayMs: number },
): Promise<number> => {
  const { why, delayMs } = debt
  const [row] = await tx<{ debts: number }[]>`
    with before as (select id, state from effect where job_id = any(${jobIds as string[]}::uuid[])),
    debt as (
      update effect set state = 'debt', updated_at = now(),
        next_try_at = now() + ${delayMs}::float8 * interval '1 millisecond',
        error = ${JSON.stringify(leftBehind(why))}::text::jsonb
      where job_id = any(${jobIds as string[]}::uuid[]) and state in ('intended', 'done')
      returning *
    ), told as (
      insert into event (type, subject_type, subject_id, job_id, actor, from_state, to_state, reason, detail)
      select 'effect.debt', subject_type, subject_id, job_id, 'conductor', before.state, 'debt', ${why},
        jsonb_build_object('effect', debt.id, 'kind', kind, 'name', name, 'platform', platform)
      from debt join before using (id)
    )
    select count(*)::int as debts from debt`
  return row?.debts ?? 0
}

export interface DueDebt {
  readonly id: string
  readonly jobId: string
  readonly attempts: number
  readonly platform: string
}

/**
 * Due debts of ended jobs that nobody is settling now. `attempts` grows with each, so that the job of every try has
 * its own key.
 */
export const takeDueDebts = async (tx: Tx, limit: number, nextDelayMs: number): Promise<DueDebt[]> => tx<
  DueDebt[]
>`
  update effect e set attempts = e.attempts + 1,
    next_try_at = now() + ${nextDelayMs}::float8 * interval '1 millisecond'
  from (select id from effect where state = 'debt' and next_try_at <= now()
          and not exists (select from job j where j.id = effect.job_id and j.finished_at is null)
          and not ${openJobAbout(tx, 'effect', tx`effect.id::text`)}
        order by next_try_at limit ${limit} for update skip locked) due
  where e.id = due.id returning e.id, e.job_id, e.attempts, e.platform`

/** A person takes responsibility for what is left outside. */
export const waiveOpenEffect = async (
  tx: Tx,
  waiver: { id: string; by: string; reason: string },
): Promise<boolean> => {
  const rows = await tx`
    with before as (select id, state from effect where id = ${waiver.id}::uuid for update),
    waived as (
      update effect set state = 'waived', waived_by = ${waiver.by}, waived_reason = ${waiver.reason},
        next_try_at = null, updated_at = now()
      where id = ${waiver.id}::uuid
        and (state = 'debt' or state = 'intended'
          and exists (select from job j where j.id = effect.job_id and j.finished_at is not null))
        -- Somebody is undoing it this moment: what a waiver says about it could be untrue before it is read. A job that
        -- waits for its turn finds it waived.
        and not ${runningJobAbout(tx, 'effect', tx`effect.id::text`)}
      returning *
    ), told as (
      insert into event (type, subject_type, subject_id, job_id, actor, from_state, to_state, reason, detail)
      select 'effect.waived', subject_type, subject_id, job_id, ${waiver.by}, before.state, 'waived', ${waiver.reason},
        jsonb_build_object('effect', waived.id, 'kind', kind, 'name', name, 'platform', platform)
      from waived join before using (id)
    )
    select id from waived`
  return rows.length === 1
}
