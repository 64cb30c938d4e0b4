import { randomUUID } from 'node:crypto'
import type { Db, Tx } from '../../db/client.ts'
import type { SiteRow } from '../../db/schema/inventory.ts'
import { installationKey } from '../../src/certificate/installation-key.ts'
import { sealEvents } from '../../src/ledger/seals/seal-events.ts'
import { createSealer, type Sealer } from '../../src/seal/seal.ts'
import { sitePasswordPlace, webhookSecretPlace, webhookUrlPlace } from '../../src/seal/seal-places.ts'
import { sealUrl } from '../../src/sealing/sealed-url.ts'
import { untilReadable, writeEvents } from './events.ts'
import { formerSeal } from './former-seal.ts'
import { makeSite } from './inventory.ts'

export const password = 'the-password-of-paris'
export const hookUrl = 'https://hooks.example.org/services/very-hidden?token=also-hidden'
export const hookSecret = 'whsec_aGlkZGVuLWhpZGRlbi1oaWRkZW4taGlkZGVuLWg='

/** One of everything that is sealed for long, with a key; and some sealed events. */
export const sealWorld = async (db: Db, hexKey: string): Promise<void> => {
  const sealer = createSealer(hexKey)
  await makeSite(db, { name: 'paris', password, sealer, quiet: true })
  const id = randomUUID()
  const { origin, sealedUrl } = sealUrl(sealer, id, hookUrl)
  await db`insert into webhook (id, name, url, sealed_url, secret, types, cursor_era, cursor_xid, cursor_id, created_by)
    values (${id}, 'chat', ${origin}, ${sealedUrl}, ${sealer.seal(hookSecret, webhookSecretPlace(id))}, '{}', 0, '0', 0,
      'test')`
  await db.begin((tx) => installationKey(tx as unknown as Tx, sealer))
  await addSeal(db, sealer)
}

/** One more link of the chain of events. */
export const addSeal = async (db: Db, sealer: Sealer): Promise<void> => {
  await writeEvents(db, [{ reason: 'to be proved' }])
  await untilReadable(db)
  await sealEvents({ db, sealer })
}

/** The same database as the version before would have left it. */
export const makeFormer = async (db: Db, hexKey: string): Promise<void> => {
  await db`update site set secret = ${formerSeal(hexKey, JSON.stringify({ password }))}`
  await db`update webhook set url = ${hookUrl}, sealed_url = null, secret = ${formerSeal(hexKey, hookSecret)}`
  const sealer = createSealer(hexKey)
  const { id } = await db.begin((tx) => installationKey(tx as unknown as Tx, sealer))
  const pair = await db.begin((tx) => installationKey(tx as unknown as Tx, sealer))
  await db`update signing_key set private_key = ${formerSeal(hexKey, pair.privateKey.toString('base64'))} where id = ${id}`
  await db`delete from sealing_key`
}

/** All that is sealed, as these keys open it; throws where they do not. */
export const openWorld = async (db: Db, sealer: Sealer) => {
  const [site] = await db<SiteRow[]>`select * from site where name = 'paris'`
  const [hook] = await db<{ id: string; url: string; sealedUrl: Buffer; secret: Buffer }[]>`
    select id, url, sealed_url, secret from webhook where name = 'chat'`
  if (!site?.secret || !hook) throw new Error('The world is not whole.')
  return {
    password: (JSON.parse(sealer.open(site.secret, sitePasswordPlace(site))) as { password: string })
      .password,
    origin: hook.url,
    url: sealer.open(hook.sealedUrl, webhookUrlPlace(hook.id, hook.url)),
    secret: sealer.open(hook.secret, webhookSecretPlace(hook.id)),
    signs: (await db.begin((tx) => installationKey(tx as unknown as Tx, sealer))).id,
  }
}
