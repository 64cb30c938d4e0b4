import type { Db, Queryable } from '../../db/client.ts'
import { insertAuditEvent } from '../../db/queries/events/insert-audit-event.ts'
import { readSealHeads } from '../../db/queries/seals/seal-heads.ts'
import { findLiveProcesses, hideUrl, pageSealedWebhooks } from '../../db/queries/seals/sealed-rows.ts'
import type { Clock } from '../clock.ts'
import { asDroverError } from '../errors.ts'
import type { Sealer } from '../seal/seal.ts'
import { isFormerSeal, openFormerSeal } from './former-seal.ts'
import { enterKey, isOfBefore, wasTold } from './key-check.ts'
import { stillRunning } from './key-errors.ts'
import { type SealedName, sealedThings } from './sealed-things.ts'
import { sealUrl } from './sealed-url.ts'

export interface UpgradeOptions {
  readonly db: Db
  readonly sealer: Sealer
  /** The keys themselves, which old seals are opened with. */
  readonly hexKeys: readonly string[]
  readonly clock: Clock
  /** A process that was not heard of for this long has ended. */
  readonly silentMs: number
}

/** Whether secrets are there that this version does not open yet. */
export const needsUpgrade = async (db: Queryable): Promise<boolean> =>
  !(await wasTold(db)) && isOfBefore(await readSealHeads(db))

/**
 * Seals anew what the version before sealed, each for its place, and takes the URLs of webhooks out of the table; then
 * this process's key is in use. One transaction, so that a database holds old seals or new ones, never both: an old one
 * that turns up later was put there by somebody. Gives what could not be opened, by name.
 */
export const upgradeSeals = async (options: UpgradeOptions): Promise<readonly SealedName[]> => {
  const { db, sealer } = options
  const unopened: SealedName[] = []
  if (await needsUpgrade(db)) {
    await untilAlone(options)
    await db.begin(async (tx) => {
      unopened.push(...(await sealAnew(tx as unknown as Queryable, options)))
    })
  }
  await enterKey(db, sealer)
  return unopened
}

/** What still runs was started by the version before: this one's processes refuse to start on such a database. */
const untilAlone = async ({ db, clock, silentMs }: UpgradeOptions): Promise<void> => {
  const end = clock.monotonicMs() + silentMs
  for (;;) {
    const names = await findLiveProcesses(db, silentMs)
    if (names.length === 0) return
    if (clock.monotonicMs() >= end) throw stillRunning(names)
    await clock.sleep(Math.min(500, silentMs / 10))
  }
}

const sealAnew = async (tx: Queryable, { sealer, hexKeys }: UpgradeOptions): Promise<SealedName[]> => {
  let [opened, urls] = [0, 0]
  const unopened: SealedName[] = []
  let lastError: unknown
  for await (const thing of sealedThings(tx)) {
    const { dispensable, place, sealed, replace } = thing
    if (!isFormerSeal(sealed)) continue
    try {
      const text = openFormerSeal(hexKeys, sealed)
      opened += 1
      // A cursor had another form: the next reading is a full one.
      if (place[0] !== 'site-cursor') await replace(tx, sealer.seal(text, place))
    } catch (error) {
      lastError = error
      if (!dispensable) unopened.push(thing)
    }
  }
  // Nothing at all opens: that is not a broken seal but another key.
  if (opened === 0 && lastError !== undefined) throw asDroverError(lastError)
  for (const { id, url, sealedUrl } of await pageSealedWebhooks(tx, { after: undefined, limit: 100_000 })) {
    if (sealedUrl) continue
    urls += 1
    await hideUrl(tx, { id, was: url, ...sealUrl(sealer, id, url) })
  }
  await insertAuditEvent(tx, {
    type: 'sealing.upgraded',
    subject: { type: 'sealing-key', id: sealer.keyId },
    actor: 'migrate',
    detail: { sealed: opened, urls, unopened: unopened.map(({ name }) => name) },
  })
  return unopened
}
