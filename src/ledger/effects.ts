import { v7 as uuidv7 } from 'uuid'
import type { Db, Tx } from '../../db/client.ts'
import { intendEffect, markEffectDone, noteRefusedIntent } from '../../db/queries/effects/effects.ts'
import { holdLease } from '../../db/queries/leases/hold-lease.ts'
import { writeCheckpoint } from '../../db/queries/leases/write-checkpoint.ts'
import type { EffectRow } from '../../db/schema/effect.ts'
import { crashPoint } from '../crash-point.ts'
import { DroverError, FencedError, recordError } from '../errors.ts'
import { storableJson } from '../storable.ts'

/** What the platform answered. A failed read throws: unknown is not absent. */
export type Observation = { readonly found: true; readonly externalId?: string } | { readonly found: false }

/** One side effect outside Postgres. */
export interface EffectSpec {
  /** Names the undoer, such as `lab-create-vm`. */
  readonly kind: string
  readonly platform: string
  /** Deterministic: the same in every try of this job. */
  readonly name: string
  /** The data that the undoer needs; null when the effect leaves nothing behind. */
  readonly undo: Record<string, unknown> | null
  /** Replaces the checkpoint of the job in the very commit of the intent. Not given: it stays as it is. */
  readonly checkpoint?: Record<string, unknown>
  readonly observe: (signal: AbortSignal) => Promise<Observation>
  readonly act: (signal: AbortSignal) => Promise<{ readonly externalId?: string } | undefined>
}

export interface EffectResult {
  readonly id: string
  readonly externalId: string | null
  /** True when an earlier try had made the change. */
  readonly adopted: boolean
}

export interface LeaseHolder {
  readonly jobId: string
  readonly epoch: number
  /** Aborted when the lease is lost, the job is cancelled or the worker has to stop. */
  readonly signal: AbortSignal
  /**
   * Throws when `signal` is aborted or, by the clock, the lease may have expired: a process that was frozen wakes up
   * in the middle of a line, before any of its timers can abort anything.
   */
  readonly confirm: () => void
}

/** A transaction that commits only while the lease is held. The lease is checked last: other locks come before the job's. */
export type Fenced = (change: (tx: Tx) => Promise<void>) => Promise<void>

export const fencedBy =
  (db: Db, { jobId, epoch }: Pick<LeaseHolder, 'jobId' | 'epoch'>): Fenced =>
  async (change) => {
    await db.begin(async (tx) => {
      await change(tx)
      if (!(await holdLease(tx, jobId, epoch))) throw new FencedError(jobId, epoch)
    })
  }

/**
 * Does a side effect so that a crash at any instant neither loses nor repeats it: intent committed first, then
 * the call, then the record. A later try looks before it acts.
 */
export const performEffect = async (
  db: Db,
  holder: LeaseHolder,
  spec: EffectSpec,
  onIntent: () => void = () => {},
): Promise<EffectResult> => {
  holder.signal.throwIfAborted()
  crashPoint('before-intent')
  const { effect, isNew } = await intend(db, holder, spec)
  onIntent()
  crashPoint('after-intent')
  if (effect.state === 'done') return { id: effect.id, externalId: effect.externalId, adopted: true }
  if (!isNew) {
    const seen = await spec.observe(holder.signal)
    if (seen.found) return record(db, holder, effect, seen.externalId ?? null, true)
  }
  crashPoint('before-effect')
  // The lease may have been lost during the read: then the result must not be acted on.
  holder.confirm()
  const done = await spec.act(holder.signal).catch(async (thrown: unknown) => {
    // The call of an earlier try, whose answer was lost, may still take effect: this refusal says nothing about it.
    if (isNew && thrown instanceof DroverError && thrown.cameToNothing)
      await noteRefusedIntent(db, {
        id: effect.id,
        jobId: holder.jobId,
        epoch: holder.epoch,
        error: storableJson(recordError(thrown)),
      })
    throw thrown
  })
  crashPoint('after-effect')
  return record(db, holder, effect, done?.externalId ?? null, false)
}

const intend = async (db: Db, holder: LeaseHolder, spec: EffectSpec) =>
  (await db.begin(async (tx) => {
    if (!(await holdBy(tx, holder, spec))) throw new FencedError(holder.jobId, holder.epoch)
    crashPoint('mid-intent')
    return intendEffect(tx, {
      id: uuidv7(),
      jobId: holder.jobId,
      epoch: holder.epoch,
      kind: spec.kind,
      platform: spec.platform,
      name: spec.name,
      undo: spec.undo === null ? null : storableJson(spec.undo),
    })
  })) as { effect: EffectRow; isNew: boolean }

/** Both prove the lease and keep it until the commit. */
const holdBy = (tx: Tx, { jobId, epoch }: LeaseHolder, { checkpoint }: EffectSpec): Promise<boolean> =>
  checkpoint === undefined
    ? holdLease(tx, jobId, epoch)
    : writeCheckpoint(tx, jobId, epoch, storableJson(checkpoint))

const record = async (
  db: Db,
  holder: LeaseHolder,
  effect: EffectRow,
  externalId: string | null,
  adopted: boolean,
): Promise<EffectResult> => {
  const { jobId, epoch } = holder
  const accepted = await markEffectDone(db, { id: effect.id, jobId, epoch, externalId, undo: null })
  if (!accepted) throw new FencedError(jobId, epoch)
  return { id: effect.id, externalId, adopted }
}
