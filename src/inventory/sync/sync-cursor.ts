import type { SiteRow } from '../../../db/schema/inventory.ts'
import type { Sealer } from '../../seal/seal.ts'
import { siteCursorPlace } from '../../seal/seal-places.ts'

type CursorSite = Parameters<typeof siteCursorPlace>[0]

/** Sealed, because a cursor may hold a session: only workers read it. */
export const sealCursor = (sealer: Sealer, site: CursorSite, cursor: string | null): Buffer | null =>
  cursor === null ? null : sealer.seal(cursor, siteCursorPlace(site))

/** The cursor, if a delta can continue from it; null: read everything. */
export const openCursor = (sealer: Sealer, site: CursorSite & Pick<SiteRow, 'cursor'>): string | null => {
  if (site.cursor === null) return null
  try {
    return sealer.open(site.cursor, siteCursorPlace(site))
  } catch {
    // From another site, or sealed with an older key: a full reading needs no cursor.
    return null
  }
}
