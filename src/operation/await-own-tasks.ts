import { z } from 'zod'
import type { Db } from '../../db/client.ts'
import { loadSite } from '../../db/queries/load-site.ts'
import type { EffectRow } from '../../db/schema/effect.ts'
import type { UsePlatform } from '../inventory/sync-site.ts'
import { portOf } from '../platforms/ports.ts'

const undoSchema = z.object({ target: z.string(), ref: z.string() })
const patienceMs = 30_000

/**
 * What an operation began and did not end: it cannot be taken back, but it can be waited for, so that nothing of it
 * comes about after the one that took its place has acted. A task that goes on for longer is looked at again later.
 */
export const awaitOwnTasks = async (
  db: Db,
  use: UsePlatform,
  effect: EffectRow,
  signal: AbortSignal,
): Promise<void> => {
  const { target, ref } = undoSchema.parse(effect.undo)
  const site = await loadSite(db, { role: 'target', name: target })
  // With the target gone from the fleet nothing of ours can act on it any more.
  if (!site) return
  await use(site, async (platform) => {
    const call = { signal, timeoutMs: patienceMs, name: `${effect.jobId}/let-go/${effect.name}` }
    const trace = { name: effect.name, machine: ref }
    const found = await portOf(platform, 'power').findTask(
      call,
      effect.externalId === null ? trace : { ...trace, taskId: effect.externalId },
    )
    if (!found.found) return
    // How it ended is nothing to us: that it has is all.
    const waited = await found.value.wait(call).catch((error: unknown) => error)
    const { state } = await found.value.status(call)
    if (state === 'queued' || state === 'running') throw waited
  })
}
