import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../clock.ts'

const turnMs = 20

/**
 * Lets other requests in during long work in memory: call it between two small pieces. A filter may take a while on
 * each instance, and everybody shares one thread.
 */
export const pacer = (clock: Pick<Clock, 'monotonicMs'>): (() => Promise<void> | undefined) => {
  let turnBegan = clock.monotonicMs()
  return () => {
    if (clock.monotonicMs() - turnBegan < turnMs) return undefined
    return setImmediate().then(() => {
      turnBegan = clock.monotonicMs()
    })
  }
}
