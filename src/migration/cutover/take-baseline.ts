import { readClock } from '../../../db/queries/fleet/read-clock.ts'
import { again } from '../../platforms/ports/bounded-wait.ts'
import type { GuestView } from '../../platforms/ports/guest.ts'
import { isUnsupported } from '../../platforms/ports/platform-error.ts'
import { portOf } from '../../platforms/ports/ports.ts'
import { type CopyTask, callOf, sourceOf } from '../copy/copy-task.ts'
import { sourceGone } from '../copy/source-snapshot.ts'
import { type EntryWork, noteEntry } from '../entry/entry-work.ts'
import { probedPorts } from '../entry/probed-ports.ts'

/** What was visible of a source before it was changed: final-verify compares the target with it. */
export interface Baseline {
  readonly taken_at: string
  readonly power: 'on' | 'off' | 'suspended'
  /** Null: the source was off, or the platform cannot look into guests. */
  readonly guest: GuestView | null
  /** The probed ports that were checked, and those that answered; null: they could not be checked. */
  readonly asked_ports: readonly number[]
  readonly open_ports: readonly number[] | null
}

/** Takes the baseline of an entry that has none, or whose baseline has other ports than its batch asks for now. */
export const takeBaseline = async (task: CopyTask): Promise<void> => {
  const { entryWork } = task
  const ports = [...probedPorts(entryWork).keys()]
  if (!isWanted(entryWork, ports)) return
  const { platform, name, ref } = sourceOf(task)
  const call = callOf(task, `baseline-${entryWork.ctx.job.id}`)
  const seen = await again(call, () => portOf(platform, 'power').power(call, ref), { of: name })
  if (!seen.found) throw sourceGone(ref)
  const on = seen.value.state === 'on'
  const guest = on ? await orNull(() => guestOf(task)) : null
  const open = on ? await orNull(() => openPortsOf(task, ports)) : null
  await noteEntry(entryWork, async (tx) => {
    const baseline: Baseline = {
      taken_at: (await readClock(tx)).toISOString(),
      power: seen.value.state,
      guest,
      asked_ports: ports,
      open_ports: open,
    }
    return { baseline: { ...baseline } }
  })
}

/** After the source was asked to go off, nothing is visible any more. */
const isWanted = ({ entry: { baseline, sourceStoppedAt } }: EntryWork, ports: readonly number[]): boolean => {
  if (baseline === null) return true
  const asked = baseline.asked_ports as readonly number[] | undefined
  return sourceStoppedAt === null && JSON.stringify(asked) !== JSON.stringify(ports)
}

/** A platform without this ability is no obstacle; a platform that does not answer is asked again later. */
const orNull = async <Value>(look: () => Promise<Value>): Promise<Value | null> => {
  try {
    return await look()
  } catch (error) {
    if (isUnsupported(error)) return null
    throw error
  }
}

const guestOf = async (task: CopyTask): Promise<GuestView | null> => {
  const { platform, name, ref } = sourceOf(task)
  const call = callOf(task, 'guest')
  const found = await again(call, () => portOf(platform, 'guest').guest(call, ref), { of: name })
  return found.found ? found.value : null
}

const openPortsOf = async (task: CopyTask, ports: readonly number[]): Promise<readonly number[] | null> => {
  if (ports.length === 0) return []
  const { platform, name, ref } = sourceOf(task)
  const call = callOf(task, 'ports')
  const found = await again(call, () => portOf(platform, 'guest').openPorts(call, ref, ports), {
    of: name,
  })
  return found.found ? found.value : null
}
