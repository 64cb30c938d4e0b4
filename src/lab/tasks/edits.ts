import { z } from 'zod'
import type { Lab } from '../model/context.ts'
import { absent } from '../model/refusal.ts'
import { getMachine, type MachineTraits, saveMachine } from '../store/machines.ts'
import { logPower } from '../store/power-log.ts'
import { changeSite } from '../store/sites.ts'
import { hideMachine, showMachine } from '../store/tombstones.ts'

/** What somebody at the site's own console does to a machine behind everybody's back. */
export const machineEdit = z.object({
  name: z.string().min(1).max(200_000).optional(),
  uuid: z.string().max(64).optional(),
  folder: z.string().max(1_024).optional(),
  /** Put over the facts as they are, key by key. */
  facts: z.record(z.string(), z.unknown()).optional(),
  /** A look at it fails with this code from now on; null: no more. */
  unreadable: z.string().nullable().optional(),
  /** What the running guest does when it is asked to go down. */
  shutdown: z.enum(['obeys', 'hangs']).optional(),
  writes: z
    .object({ blocks: z.number().int().min(1).max(256), every_ms: z.number().int().min(1) })
    .nullable()
    .optional(),
  /** How long a live move takes at pace 1. */
  move_ms: z.number().int().min(0).max(86_400_000).optional(),
  /** A live move stays at this percent from now on, unless it is forced; null: no more. */
  move_stall_at: z.number().min(0).max(99).nullable().optional(),
})
export type MachineEdit = z.infer<typeof machineEdit>

interface Which {
  readonly site: string
  readonly ref: string
}

export const editMachine = async (lab: Lab, which: Which, edit: MachineEdit): Promise<void> => {
  await changeSite(lab, which.site, { why: 'lab: edit' }, async (change) => {
    const machine = await getMachine(change.tx, which.site, which.ref)
    machine.name = edit.name ?? machine.name
    machine.uuid = edit.uuid ?? machine.uuid
    machine.folder = edit.folder ?? machine.folder
    machine.location = `${machine.folder}/${machine.name}`
    machine.facts = {
      ...machine.facts,
      ...edit.facts,
      ...(edit.name === undefined ? {} : { name: edit.name }),
    }
    const { unreadable: _old, ...traits } = machine.traits
    const unreadable =
      edit.unreadable === undefined ? machine.traits.unreadable : (edit.unreadable ?? undefined)
    machine.traits = moving(unreadable === undefined ? traits : { ...traits, unreadable }, edit)
    if (machine.guest) {
      const writes = edit.writes === undefined ? machine.guest.writes : edit.writes
      machine.guest = { ...machine.guest, shutdown: edit.shutdown ?? machine.guest.shutdown, writes }
    }
    await saveMachine(change, machine)
    if (machine.power === 'on') await logPower(change, machine)
  })
}

const moving = (traits: MachineTraits, edit: MachineEdit): MachineTraits => {
  const { moveStallAt: old, ...rest } = traits
  const stallAt = edit.move_stall_at === undefined ? old : (edit.move_stall_at ?? undefined)
  return {
    ...rest,
    ...(edit.move_ms === undefined ? {} : { moveMs: edit.move_ms }),
    ...(stallAt === undefined ? {} : { moveStallAt: stallAt }),
  }
}

/** The machine is no longer seen, and may come back: somebody unregistered it, its files stay. */
export const vanish = async (lab: Lab, which: Which): Promise<void> => {
  await changeSite(lab, which.site, { why: 'lab: vanish' }, async (change) => {
    if (!(await hideMachine(change, which.ref))) throw absent(`machine "${which.ref}" in ${which.site}`)
  })
}

export const putBack = async (lab: Lab, which: Which): Promise<void> => {
  await changeSite(lab, which.site, { why: 'lab: put-back' }, async (change) => {
    if (!(await showMachine(change, which.ref)))
      throw absent(`vanished machine "${which.ref}" in ${which.site}`)
  })
}
