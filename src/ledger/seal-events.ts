import type { Queryable } from '../../db/client.ts'
import {
  digestRange,
  insertSeal,
  nextSealRange,
  type SealDigest,
  type SealRange,
} from '../../db/queries/seal-events.ts'
import type { Clock } from '../clock.ts'
import type { Logger } from '../log.ts'
import type { Sealer } from '../seal.ts'
import { Loop } from './service.ts'

export interface SealEventsOptions {
  readonly db: Queryable
  readonly sealer: Pick<Sealer, 'mac'>
  readonly clock: Clock
  readonly log: Logger
  readonly intervalMs?: number
  /** About how many events one seal covers; one transaction is never split. */
  readonly eventsMax?: number
}

/** Under load the seals follow at their own pace (25,000 events a second at most) and leave the rest to live work. */
const betweenSealsMs = 200
const eventsPerSeal = 5_000

/** Seals what became final since the last time, in the background of the conductor. */
export const sealEventsService = (options: SealEventsOptions): Loop =>
  new Loop({
    name: 'seal-events',
    intervalMs: options.intervalMs ?? 2_000,
    runOnce: async () => ((await sealEvents(options)) === 'sealed' ? betweenSealsMs : false),
    clock: options.clock,
    log: options.log,
  })

/**
 * Adds one link to the hash chain over events. No commit waits for it: it takes only events that are final,
 * after the fact. Two sealers at once compute the same link and one of them stores it.
 */
export const sealEvents = async (
  options: Pick<SealEventsOptions, 'db' | 'sealer' | 'eventsMax'>,
): Promise<'sealed' | 'nothing'> => {
  const range = await nextSealRange(options.db, options.eventsMax ?? eventsPerSeal)
  if (!range) return 'nothing'
  const digest = await digestRange(options.db, range)
  const mac = options.sealer.mac(sealText(range, digest, digest.nowMs))
  await insertSeal(options.db, { ...range, ...digest, sealedAtMs: digest.nowMs, mac })
  return 'sealed'
}

/**
 * What the key signs: not the hash alone but every column of the link, so that a link whose events were pruned
 * can still be proved.
 */
export const sealText = (
  range: SealRange,
  digest: Pick<SealDigest, 'events' | 'hash'>,
  atMs: number,
): Buffer =>
  Buffer.from(
    [
      'drover-seal-1',
      range.seq,
      range.era,
      range.fromXid,
      range.toXid,
      digest.events,
      atMs,
      range.previousHash.toString('hex'),
      digest.hash.toString('hex'),
    ].join('\n'),
  )
