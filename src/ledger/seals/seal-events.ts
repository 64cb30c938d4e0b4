import type { Queryable } from '../../../db/client.ts'
import { insertSeal, nextSealRange } from '../../../db/queries/seals/seal-events.ts'
import type { Clock } from '../../clock.ts'
import type { Logger } from '../../process/log.ts'
import { Loop } from '../../process/service.ts'
import { digestRange, sealVersion } from './seal-digest.ts'
import { type Signer, sealText } from './seal-texts.ts'

export interface SealEventsOptions {
  readonly db: Queryable
  readonly sealer: Signer
  readonly clock: Clock
  readonly log: Logger
  readonly intervalMs?: number
  /** About how many events one seal covers; a transaction is never split. */
  readonly eventsMax?: number
}

/** Under load the seals follow at their own pace (25,000 events a second at most) and leave the rest to live work. */
const betweenSealsMs = 200
const eventsPerSeal = 5_000

/** Seals new final events, in the background of the conductor. */
export const sealEventsService = (options: SealEventsOptions): Loop =>
  new Loop({
    name: 'seal-events',
    intervalMs: options.intervalMs ?? 2_000,
    runOnce: async () => ((await sealEvents(options)) === 'sealed' ? betweenSealsMs : false),
    clock: options.clock,
    log: options.log,
  })

/**
 * Adds one link to the hash chain over events. No commit waits for it: it takes only final events, afterwards. Two
 * concurrent sealers compute the same link and one of them stores it. The time is this process's: it later decides
 * whether the events are old enough to be removed, and the database must not influence that.
 */
export const sealEvents = async (
  options: Pick<SealEventsOptions, 'db' | 'sealer' | 'eventsMax'> & { readonly nowMs?: number },
): Promise<'sealed' | 'nothing'> => {
  const range = await nextSealRange(options.db, options.eventsMax ?? eventsPerSeal)
  if (!range) return 'nothing'
  const digest = { ...(await digestRange(options.db, range)), version: sealVersion }
  const sealedAtMs = options.nowMs ?? Date.now()
  const mac = options.sealer.mac(sealText(range, digest, sealedAtMs))
  await insertSeal(options.db, { ...range, ...digest, sealedAtMs, mac })
  return 'sealed'
}
