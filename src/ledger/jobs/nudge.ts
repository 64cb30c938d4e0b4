import type { Db } from '../../../db/client.ts'
import { notifyChannel } from '../../../db/queries/bell/notify-channel.ts'

/** Where the conductor listens for "something is due". A hint: the relay polls as well. */
export const dueChannel = 'drover_due'
/** Where workers listen for "a job is to be cancelled"; they poll as well. */
export const cancelChannel = 'drover_cancel'

const pending = new WeakMap<Db, Set<string>>()

/**
 * Sends a hint after a commit. Coalesced per process and outside the caller's transaction on purpose: commits that
 * carry a NOTIFY queue behind one lock of the whole server (a third of the throughput).
 */
export const nudge = (db: Db, channel: typeof dueChannel | typeof cancelChannel = dueChannel): void => {
  const waiting = pending.get(db) ?? new Set()
  pending.set(db, waiting)
  if (waiting.has(channel)) return
  waiting.add(channel)
  setImmediate(() => {
    waiting.delete(channel)
    notifyChannel(db, channel).catch(() => {
      // Losing a hint costs one poll interval, nothing else.
    })
  })
}
