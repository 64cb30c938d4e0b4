import { existsSync, rmSync } from 'node:fs'
import { openDb } from '../../db/client.ts'
import type { Config } from '../config/config.ts'
import { DroverError } from '../errors.ts'
import { secretKeyId } from '../seal/seal.ts'
import { readKeyIds, readShownKeyIds } from '../sealing/key-check.ts'
import { prepareSeals, runRekey, runRepair } from '../sealing/prepare-seals.ts'
import { ensureSecretKey, secretKeyFile } from './data-dir.ts'

/** What `npm start` was told to do about keys. */
export interface KeyOptions {
  /** What a key that is gone has sealed is given up. */
  readonly lostKey: boolean
  /** With old keys, nothing is sealed anew: for work while the chain of events is looked into. */
  readonly noRekey: boolean
  /**
   * What somebody added to the chain of events without the key is taken away, before anything is sealed anew; with what
   * `drover repair-seals` is given.
   */
  readonly repairSeals: readonly string[] | undefined
}

interface KeyPlace extends KeyOptions {
  readonly url: string
  readonly config: Config
  readonly dataDir: string
  readonly say: (text: string) => void
}

export const secretKeyOf = (config: Config, dataDir: string): string =>
  config.secretKey ?? ensureSecretKey(dataDir)

/**
 * Nobody else works here yet: where an old key was given, or is lost, everything is sealed anew before the roles start. A
 * key that this start made and the database refuses is removed again: left behind, it looks like the one that belongs here.
 */
export const prepareKeys = async (place: KeyPlace): Promise<void> => {
  const { url, config, dataDir } = place
  const file = secretKeyFile(dataDir)
  const fresh = config.secretKey === undefined && !existsSync(file)
  const secretKey = secretKeyOf(config, dataDir)
  try {
    await enterAndRekey({ ...place, config: { ...config, secretKey } })
  } catch (error) {
    if (fresh && !(await isInUse(url, secretKeyId(secretKey)))) rmSync(file, { force: true })
    throw error
  }
}

const enterAndRekey = async (place: KeyPlace): Promise<void> => {
  const { url, config, say, lostKey, noRekey } = place
  if (!lostKey) await prepareSeals(url, config, say)
  if (place.repairSeals) await runRepair(url, config, { args: place.repairSeals, say })
  if (!lostKey && (noRekey || config.oldSecretKeys.length === 0)) return
  if ((await runRekey(url, config, { lost: lostKey, say })) !== 0) throw chainBroken()
}

/** Where that cannot be told it counts as in use: what it may have sealed must not be lost. */
const isInUse = async (url: string, keyId: string): Promise<boolean> => {
  const db = openDb({ url, max: 1, applicationName: 'drover-up' })
  try {
    return (await readKeyIds(db)).includes(keyId) || (await readShownKeyIds(db)).has(keyId)
  } catch {
    return true
  } finally {
    await db.end({ timeout: 5 })
  }
}

const chainBroken = (): DroverError =>
  new DroverError({
    code: 'events-chain-broken',
    class: 'config',
    message:
      'The secret keys of before are still in use: the chain of events does not hold, so nothing attests it.',
    remedy:
      'Find out who changed the database (docs/production.md, "The chain of events does not hold"), then start again with ' +
      'the same keys. To work meanwhile: npm start -- --no-rekey. Where a seal was added without the key: npm start -- ' +
      '--repair-seals --head <a head that you noted>.',
  })
