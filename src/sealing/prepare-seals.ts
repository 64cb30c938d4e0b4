import { openDb } from '../../db/client.ts'
import { systemClock } from '../clock.ts'
import { type Config, limits, requireSecretKey } from '../config/config.ts'
import { many } from '../domain/text/sentence.ts'
import { repairLines } from '../ledger/seals/repair-lines.ts'
import { repairSeals } from '../ledger/seals/repair-seals.ts'
import { createSealer } from '../seal/seal.ts'
import { headsGiven } from './heads-given.ts'
import { checkKey } from './key-check.ts'
import { keyWatchMs } from './key-watch.ts'
import { type RekeyReport, rekey } from './rekey.ts'
import { unopenedLines } from './unopened-lines.ts'
import { needsUpgrade, upgradeSeals } from './upgrade.ts'

type KeyConfig = Pick<Config, 'secretKey' | 'oldSecretKeys' | 'leaseMs'>

/**
 * What comes after the schema: secrets of the version before are sealed anew, and the key is entered as in use, so that
 * a wrong one is found here and not by a migration. Without a key there is nothing to do, unless there are secrets.
 */
export const prepareSeals = async (
  url: string,
  config: KeyConfig,
  say: (text: string) => void,
): Promise<void> => {
  const db = openDb({ url, max: 2, applicationName: 'drover-migrate' })
  try {
    const outdated = await needsUpgrade(db)
    if (config.secretKey === undefined && !outdated) return
    const current = requireSecretKey(config)
    const unopened = await upgradeSeals({
      db,
      sealer: createSealer(current, config.oldSecretKeys),
      hexKeys: [current, ...config.oldSecretKeys],
      clock: systemClock,
      silentMs: Math.max(config.leaseMs, limits.leaseMs),
    })
    for (const line of unopenedLines(unopened)) say(line)
    if (outdated) for (const line of upgradedLines) say(line)
  } finally {
    await db.end({ timeout: 5 })
  }
}

/** An earlier version starts on what was upgraded, and opens nothing of it: who upgrades must hear of it from us. */
const upgradedLines = [
  'The secrets of the version before were sealed anew, each for its own place. Do not start an earlier version on this ' +
    'database any more: it opens none of them. To go back, restore the backup.',
  'Replace the secret key when there is time (docs/production.md, "Keys"): then old seals in old backups open nowhere.',
]

/** `drover rekey`: gives the exit code. */
export const runRekey = async (
  url: string,
  config: KeyConfig & Pick<Config, 'eventsKeptDaysMin'>,
  options: { readonly lost: boolean; readonly say: (text: string) => void },
): Promise<number> => {
  const db = openDb({ url, max: 2, applicationName: 'drover-rekey' })
  try {
    const report = await rekey({
      db,
      sealer: createSealer(requireSecretKey(config), config.oldSecretKeys),
      oldHexKeys: config.oldSecretKeys,
      lost: options.lost,
      clock: systemClock,
      graceMs: keyWatchMs * 2,
      floorDays: config.eventsKeptDaysMin,
    })
    for (const line of rekeyLines(report)) options.say(line)
    return report.brokenChain === undefined ? 0 : 1
  } finally {
    await db.end({ timeout: 5 })
  }
}

/** `drover repair-seals`: gives the exit code. */
export const runRepair = async (
  url: string,
  config: Pick<Config, 'secretKey' | 'oldSecretKeys'>,
  { args, say }: { readonly args: readonly string[]; readonly say: (text: string) => void },
): Promise<number> => {
  const heads = headsGiven(args)
  const db = openDb({ url, max: 2, applicationName: 'drover-repair-seals', statementMs: 600_000 })
  try {
    const sealer = createSealer(requireSecretKey(config), config.oldSecretKeys)
    // With another key every seal would look false.
    await checkKey(db, sealer)
    const report = await repairSeals({ db, sealer, heads })
    for (const line of repairLines(report)) say(line)
    return 0
  } finally {
    await db.end({ timeout: 5 })
  }
}

/** What was done, and what may be done now. */
export const rekeyLines = (report: RekeyReport): string[] => [
  `${many(report.sealed, 'secret was', 'secrets were')} sealed anew with the key ${report.keyId}; ${many(report.already, 'was', 'were')} before.`,
  ...unopenedLines(report.unopened),
  ...(report.brokenChain === undefined
    ? []
    : [
        `The chain of events does not hold, so nothing attests it. ${report.brokenChain}`,
        'Keep the old keys, find out who changed the database, and run this again.',
      ]),
  ...report.unseen.map(
    (id) =>
      `The key ${id} had sealed nothing and signed no event: it is taken out of the list of keys in use.`,
  ),
  ...report.lost.map((id) => `The key ${id} is given up: nothing is sealed with it any more.`),
  ...(report.lost.length > 0 && report.head
    ? [
        `The events so far are held by the hash of the newest seal alone: seal ${report.head.seq}, ${report.head.hash}. ` +
          'Compare it with a head that was handed out; an older one says it with: drover events verify --head <head>',
      ]
    : []),
  ...report.replaced.map(
    (id) =>
      `The key ${id} is not in use any more. Keep it in DROVER_SECRET_KEYS_OLD for a day, while sessions and kept ` +
      'answers end; then run this once more and take it away.',
  ),
]
