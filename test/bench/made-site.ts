import { v7 as uuidv7 } from 'uuid'
import type { Db } from '../../db/client.ts'
import { sealPassword } from '../../src/api/resources/inventory/site-secret.ts'
import { readSettings, type SiteRole } from '../../src/domain/inventory/site-settings.ts'
import { createSealer } from '../../src/seal/seal.ts'

/** A site of a lab, known and reachable, that nobody checks or reads while something is measured. */
export const addSite = async (
  db: Db,
  site: {
    readonly role: SiteRole
    readonly name: string
    readonly endpoint: string
    readonly password: string
    readonly secretKey: string
  },
): Promise<string> => {
  const id = uuidv7()
  const row = { ...site, id, kind: 'lab', username: 'drover', ca: '', fingerprint: '' }
  const secret = sealPassword(createSealer(site.secretKey), row, site.password)
  await db`
    insert into site (id, role, name, kind, endpoint, username, secret, settings, connectivity, created_by,
      next_check_at, next_sync_at)
    values (${id}::uuid, ${site.role}, ${site.name}, 'lab', ${site.endpoint}, 'drover', ${secret},
      ${db.json(readSettings(site.role, {}) as never)}, 'ok', 'bench', now() + interval '1 day', now() + interval '1 day')`
  return id
}
