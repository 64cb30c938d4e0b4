import type { Tx } from '../../../../db/client.ts'
import { loadSiteById } from '../../../../db/queries/sites/load-site.ts'
import type { SiteChange, SiteLine } from '../../../../db/queries/sites/site-rows.ts'
import type { Sealer } from '../../../seal/seal.ts'
import { sitePasswordPlace } from '../../../seal/seal-places.ts'

type Bound = Pick<SiteChange, 'endpoint' | 'username' | 'ca' | 'fingerprint'>

/** The password of a site that is about to be stored. */
export const sealPassword = (
  sealer: Sealer,
  site: Parameters<typeof sitePasswordPlace>[0],
  password: string,
): Buffer => sealer.seal(JSON.stringify({ password }), sitePasswordPlace(site))

/**
 * The password of a site for what the site is about to be: given anew, or sealed again where something that it is
 * bound to changes. Undefined: the stored seal goes on to fit. The caller holds the row's lock.
 */
export const sealedFor = async (
  tx: Tx,
  sealer: Sealer,
  site: SiteLine,
  change: Bound & { readonly password?: string | undefined },
): Promise<Buffer | undefined> => {
  const after = {
    ...site,
    endpoint: change.endpoint ?? site.endpoint,
    username: change.username ?? site.username,
    ca: change.ca ?? site.ca,
    fingerprint: change.fingerprint ?? site.fingerprint,
  }
  if (change.password !== undefined) return sealPassword(sealer, after, change.password)
  const [before, place] = [sitePasswordPlace(site), sitePasswordPlace(after)]
  if (before.every((part, at) => part === place[at])) return undefined
  const stored = await loadSiteById(tx, site.id)
  return stored?.secret ? sealer.seal(sealer.open(stored.secret, before), place) : undefined
}
