import { z } from 'zod'
import { lockMachine } from '../../../db/queries/machines/machine-rows.ts'
import { loadSite } from '../../../db/queries/sites/load-site.ts'
import type { MachineRow } from '../../../db/schema/operation.ts'
import { callBy, type JobCall, type UndoContext, type Undoer } from '../../ledger/job.ts'
import { again } from '../../platforms/ports/bounded-wait.ts'
import { type Platform, portOf } from '../../platforms/ports/ports.ts'
import type { PowerFacts } from '../../platforms/ports/power.ts'
import { noteSeen } from './note-seen.ts'

/** What the undo of an operation's effect gets, with the platform of its target. */
export interface Undoing<Undo> extends UndoContext {
  readonly undo: Undo
  readonly platform: Platform
  readonly call: JobCall
}

const callMs = 50_000

/** The undoer of effects whose data has this shape. A target is not removed from Drover while anything is to be undone there. */
export const undoerOf =
  <Shape extends z.ZodType<{ readonly target: string }>>(
    shape: Shape,
    work: (undoing: Undoing<z.infer<Shape>>) => Promise<void>,
  ): Undoer =>
  async (undoing) => {
    const { effect } = undoing
    const undo = shape.parse(effect.undo)
    const site = await loadSite(undoing.db, { role: 'target', name: undo.target })
    if (!site) return
    const name = `${effect.id}/undo/${effect.attempts}/${effect.epoch}`
    await undoing.usePlatform(site, (platform) =>
      work({ ...undoing, undo, platform, call: callBy(undoing, name, callMs) }),
    )
  }

/** The effect and its platform, for reading what has become of its work. */
export type AtPlatform = Pick<Undoing<unknown>, 'effect' | 'platform' | 'call' | 'fenced'>

/** Records the current state of the machine: the next operation is decided by the stored row. */
export const noteAsItIs = async (
  { effect, platform, call, fenced }: AtPlatform,
  of: { readonly ref: string; readonly machine_id: string },
  also: (machine: MachineRow, seen: PowerFacts) => Pick<Partial<MachineRow>, 'savedState'> = () => ({}),
): Promise<void> => {
  const seen = await again(call, () => portOf(platform, 'power').power(call, of.ref))
  if (!seen.found) return
  const { state: power, host } = seen.value
  await fenced(async (tx) => {
    const machine = await lockMachine(tx, of.machine_id)
    if (!machine) return
    const at = { machineId: machine.id, jobId: effect.jobId }
    await noteSeen(tx, at, { power, host, ...also(machine, seen.value) })
  })
}

/** The data that every undo of an operation needs. */
export const undoTaskShape = z.object({ target: z.string(), ref: z.string(), machine_id: z.string() })
