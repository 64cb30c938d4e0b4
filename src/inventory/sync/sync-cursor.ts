import type { SiteRow } from '../../../db/schema/inventory.ts'
import type { Sealer } from '../../seal/seal.ts'
import { siteCursorPlace } from '../../seal/seal-places.ts'

type CursorSite = Parameters<typeof siteCursorPlace>[0]

/** It may hold a session, so nobody but a worker reads it. */
export const sealCursor = (sealer: Sealer, site: CursorSite, cursor: string | null): Buffer | null =>
  cursor === null ? null : sealer.seal(cursor, siteCursorPlace(site))

/** The cursor if a delta can go on from it; null: read everything. */
export const openCursor = (sealer: Sealer, site: CursorSite & Pick<SiteRow, 'cursor'>): string | null => {
  if (site.cursor === null) return null
  try {
    return sealer.open(site.cursor, siteCursorPlace(site))
  } catch {
    // Of another place, or sealed with an older key: a full reading needs none.
    return null
  }
}
