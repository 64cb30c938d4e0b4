import { z } from 'zod'
import type { Queryable, Tx } from '../../../db/client.ts'
import { findCleanUps, findMachineNeed, oweCleanUp } from '../../../db/queries/effects/clean-ups.ts'
import { settleEffect } from '../../../db/queries/effects/effects.ts'
import { isVouchedFor } from '../../../db/queries/entries/is-vouched-for.ts'
import { loadSiteById } from '../../../db/queries/sites/load-site.ts'
import { crashPoint } from '../../crash-point.ts'
import { whoNeedsMachine } from '../../domain/migration/entry/clean-up.ts'
import { DroverError } from '../../errors.ts'
import { callBy, type Undoer } from '../../ledger/job.ts'
import { entryTag, ownMachines } from './own-target.ts'
import { removeOwned } from './target-machine.ts'

/**
 * Effects of this kind are machines of ours that must be removed. Each is a debt from before the first call to the
 * target until the machine is proved to be gone, so the leftovers are known even while the target cannot be reached.
 */
export const cleanUpKind = 'target-clean-up'

const undoSchema = z.object({
  entry_id: z.string(),
  site_id: z.string(),
  machine_ref: z.string().nullable(),
})

/** Records the debt for the job that removes the machine. `anew`: also if a person had waived the earlier debt. */
export const oweMachine = (
  tx: Tx,
  asked: {
    readonly entryId: string
    readonly jobId: string
    readonly anew: boolean
    readonly actor: string
  },
): Promise<void> => oweCleanUp(tx, { kind: cleanUpKind, ...asked })

/** Whether a person has taken over what an entry left on its target: then Drover does not remove it. */
export const isTakenOver = async (db: Queryable, entryId: string): Promise<boolean> => {
  const found = await findCleanUps(db, { kind: cleanUpKind, entryId })
  return found.at(-1)?.state === 'waived'
}

/** Settles the debts: nothing of the entry is left on its target. */
export const settleCleanUps = async (
  tx: Tx,
  { entryId, actor }: { readonly entryId: string; readonly actor: string },
): Promise<void> => {
  for (const { id, state } of await findCleanUps(tx, { kind: cleanUpKind, entryId }))
    if (state === 'debt') await settleEffect(tx, { id, actor, outcome: 'undone' })
}

const callMs = 50_000

/**
 * Removes a machine whose withdrawal ended without removing it, and whose entry may be gone. Checked again now: an
 * entry that goes on keeps its machine, and so does a verified migration.
 */
export const undoCleanUp: Undoer = async (undoing) => {
  const { effect, db, confirm, usePlatform } = undoing
  const { entry_id: entryId, site_id: siteId, machine_ref: machineRef } = undoSchema.parse(effect.undo)
  const isOwed = async () => {
    if (await isVouchedFor(db, entryId)) return false
    const needs = whoNeedsMachine(await findMachineNeed(db, { entryId, siteId }))
    if (needs === 'withdrawal') throw withdrawn(entryId)
    return needs === 'nobody'
  }
  if (!(await isOwed())) return
  const site = await loadSiteById(db, siteId)
  if (!site) throw targetUnknown(siteId)
  const call = callBy(undoing, `${effect.id}/undo/${effect.attempts}`, callMs)
  await usePlatform(site, async (platform) => {
    for (const ref of await ownMachines(platform, call, { entryId, machineRef })) {
      // The look takes time: the entry may have been resumed.
      if (!(await isOwed())) return
      crashPoint('undo-before-change')
      await removeOwned(platform, call, { ref, owner: { [entryTag]: entryId }, confirm })
    }
  })
}

const withdrawn = (entryId: string): DroverError =>
  new DroverError({
    code: 'withdrawal-goes-on',
    class: 'transient',
    message: `The withdrawal of entry ${entryId} is tried again: it brings the source back first, then takes the machine away.`,
    remedy: 'Look at the entry: its message says what the withdrawal fails at.',
    detail: { entry_id: entryId },
  })

const targetUnknown = (id: string): DroverError =>
  new DroverError({
    code: 'target-unknown',
    class: 'conflict',
    message: `The target ${id} is not known any more: whether our machine is there cannot be told.`,
    remedy: 'Add the target again, or look there and waive this effect.',
    detail: { target_id: id },
  })
