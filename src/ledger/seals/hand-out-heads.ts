import type { Db, Tx } from '../../../db/client.ts'
import { insertAuditEvent } from '../../../db/queries/events/insert-audit-event.ts'
import { readSettingRows } from '../../../db/queries/fleet/settings.ts'
import { findLatestHead } from '../../../db/queries/seals/find-latest-head.ts'
import { readNewestSeal, readSeal } from '../../../db/queries/seals/verify-seals.ts'
import type { Clock } from '../../clock.ts'
import { settingValue } from '../../domain/settings.ts'
import type { Logger } from '../../process/log.ts'
import { Loop } from '../../process/service.ts'
import type { Sealer } from '../../seal/seal.ts'
import {
  type HeadKey,
  isHeadSignedBy,
  parseHead,
  publicHalf,
  type SignedHead,
  signHead,
} from '../../seal/seal-head.ts'
import { sealKeys } from './former-keys.ts'
import { appendHead, lastHeadOf } from './heads-file.ts'
import { type HeadsMemory, lostHeadWords } from './lost-head.ts'

export interface HandOutHeadsOptions {
  readonly db: Db
  readonly sealer: Pick<Sealer, 'isMac' | 'open'>
  /** The key that anybody can check: the one that signs certificates. */
  readonly signingKey: (tx: Tx) => Promise<HeadKey>
  readonly clock: Clock
  readonly log: Logger
  /** The actor of the event. */
  readonly by: string
  /** Where each line is appended. */
  readonly file?: string | undefined
  readonly intervalMs?: number
  /** Shared with the readiness check. */
  readonly memory: HeadsMemory
}

/** A process that has just started, and knows no head, seals a little first. */
const firstAfterMs = 60_000

/** Hands out the newest seal's number and hash, signed, as an event (for webhooks), in the log and in a file. */
export const handOutHeadsService = (options: HandOutHeadsOptions): Loop => {
  const { memory } = options
  const startedMs = options.clock.monotonicMs()
  return new Loop({
    name: 'seal-heads',
    intervalMs: options.intervalMs ?? 15_000,
    runOnce: async () => {
      if (options.clock.monotonicMs() - startedMs >= firstAfterMs) await handOutHead(options, memory)
      return false
    },
    clock: options.clock,
    log: options.log,
  })
}

/**
 * One look: nothing when it is too early or nothing was sealed since. Before it signs, it checks that the chain still
 * holds the last head that was handed out (in memory, or in the file from before its start): a chain that was cut off
 * or replaced gets no new head, and an error is logged each time.
 */
export const handOutHead = async (
  options: Omit<HandOutHeadsOptions, 'intervalMs' | 'memory'>,
  memory: HeadsMemory,
): Promise<SignedHead | undefined> => {
  const { db, clock, log } = options
  const stored = new Map((await readSettingRows(db)).map((row) => [row.name, row.value]))
  const everyMs = settingValue(stored, 'seal-head-minutes') * 60_000
  const known = memory.last ?? (options.file === undefined ? undefined : await lastHeadOf(options.file))
  const told = known ?? (await toldBefore(options))
  const nowMs = clock.now()
  // A head with a time in the future is no reason to wait.
  if (told && told.atMs <= nowMs && nowMs - told.atMs < everyMs) return undefined
  const seal = await readNewestSeal(db)
  memory.lost = known && (await isLost(db, known)) ? known : undefined
  const lost = lostHeadWords(memory, options)
  if (lost) log.error({ known: known?.line, remedy: lost.remedy }, lost.message)
  if (lost || !seal || (known && seal.seq <= known.seq)) return undefined
  if (!(await sealKeys(db, options.sealer)).proveSeal(seal)) {
    log.error({ seal: seal.seq }, "the newest event seal was not signed with this installation's key")
    return undefined
  }
  const head = await tell(options, { seq: seal.seq, hash: seal.hash.toString('hex'), atMs: nowMs })
  memory.last = head
  log.info({ head: head.line }, 'the head of the event chain: keep it outside the database')
  if (options.file !== undefined) await appendHead(options.file, head.line)
  return head
}

/**
 * The head that an earlier process handed out. Every role may add events: a head that we did not sign delays nothing.
 */
const toldBefore = async ({
  db,
  signingKey,
}: Pick<HandOutHeadsOptions, 'db' | 'signingKey'>): Promise<SignedHead | undefined> => {
  const head = parseHead((await findLatestHead(db)) ?? '')
  if (!head) return undefined
  const key = (await db.begin(signingKey)) as HeadKey
  return isHeadSignedBy(head, publicHalf(key.privateKey)) ? head : undefined
}

const isLost = async (db: Db, known: SignedHead): Promise<boolean> =>
  (await readSeal(db, known.seq))?.hash.toString('hex') !== known.hash

const tell = async (
  { db, signingKey, by }: Pick<HandOutHeadsOptions, 'db' | 'signingKey' | 'by'>,
  head: { readonly seq: number; readonly hash: string; readonly atMs: number },
): Promise<SignedHead> =>
  (await db.begin(async (tx) => {
    const signed = signHead(head, await signingKey(tx))
    await insertAuditEvent(tx, {
      type: 'events.head',
      subject: { type: 'event-chain', id: 'head' },
      actor: by,
      detail: { head: signed.line, seq: signed.seq, hash: signed.hash, key_id: signed.keyId },
    })
    return signed
  })) as SignedHead
