import { crashPoint } from '../../crash-point.ts'
import { DroverError } from '../../errors.ts'
import type { Start } from '../../inventory/power/start-guard.ts'
import type { JobCall } from '../../ledger/job.ts'
import { again } from '../../platforms/ports/bounded-wait.ts'
import { PlatformError } from '../../platforms/ports/platform-error.ts'
import { type Platform, portOf } from '../../platforms/ports/ports.ts'
import type { EntryWork } from '../entry/entry-work.ts'

/** The start that gives a source back. */
export const startOfSource = ({ ctx, entry, source, facts }: EntryWork): Start => ({
  at: { siteId: source.id, ref: facts.ref, uuid: facts.uuid },
  name: facts.name,
  by: { jobId: ctx.job.id, entryId: entry.id },
  byItsMigration: true,
})

/** Starts the source; if it runs already, that is fine. */
export const startSource = async (
  platform: Platform,
  call: JobCall,
  asked: {
    readonly ref: string
    /** The guard, asked right before the call; throws when the source must not be started. */
    readonly mayStart: () => Promise<void>
    readonly confirm: () => void
  },
): Promise<void> => {
  const power = portOf(platform, 'power')
  await asked.mayStart()
  try {
    const handle = await again(call, () => {
      crashPoint('undo-before-change')
      asked.confirm()
      return power.start(call, asked.ref)
    })
    await handle.wait(call)
  } catch (error) {
    // It runs already.
    if (!(error instanceof PlatformError) || error.code !== 'platform-wrong-state') throw error
  }
}

/** Whether a ref still leads to the machine with the recorded identity; null: any identity is accepted. */
export const sameMachine = async (
  platform: Platform,
  call: JobCall,
  asked: { readonly ref: string; readonly uuid: string | null },
): Promise<'same' | 'gone'> => {
  const found = await again(call, () => portOf(platform, 'inventory').instance(call, asked.ref))
  if (!found.found) return 'gone'
  const uuid = found.value.uuid.toLowerCase()
  if (uuid === '' || asked.uuid === null || uuid === asked.uuid) return 'same'
  throw anotherMachine(asked.ref)
}

const anotherMachine = (ref: string): DroverError =>
  new DroverError({
    code: 'identity-changed',
    class: 'conflict',
    message: `The machine ${ref} of the source has another UUID now: it is not started.`,
    remedy: 'Look at the machine; cancel the entry to have it started as it is, or start it by hand.',
    detail: { ref },
  })
