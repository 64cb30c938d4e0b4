import { randomUUID } from 'node:crypto'
import type { Db, Tx } from '../../../db/client.ts'
import type { Clock } from '../../clock.ts'
import type { Logger } from '../../process/log.ts'

/** What everything in the lab works with. All state is in Postgres, so a lab that dies loses none. */
export interface Lab {
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
}

/** One change of a site: inside its transaction, at a moment of the lab's time, as the next of its sequence. */
export interface Change {
  readonly tx: Tx
  readonly site: string
  /** The lab's time in milliseconds. */
  readonly at: number
  readonly seq: number
  /** Of the world: what durations are multiplied by. */
  readonly pace: number
  /** Who asked, for the power log. */
  readonly why: string
}

export const newId = (): string => randomUUID()

export const toDate = (ms: number): Date => new Date(ms)
export const toMs = (date: Date | null): number | null => date?.getTime() ?? null

/** Who did it, by which verb and which name: what a power log shows. */
export const changeReason = (who: { caller: string; kind: string; name: string }): string =>
  `${who.caller || 'nobody'}: ${who.kind}${who.name === '' ? '' : ` (${who.name})`}`
