import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { SiteRow } from '../../db/schema/inventory.ts'
import type { Sealer } from '../seal.ts'

const stored = z.object({ cursor: z.string(), of: z.string() })

/** What a cursor holds for: the same place, looked at through the same scopes. */
const placeOf = (site: Pick<SiteRow, 'kind' | 'endpoint' | 'username' | 'settings'>): string =>
  createHash('sha256')
    .update(JSON.stringify([site.kind, site.endpoint, site.username, site.settings.scopes ?? []]))
    .digest('base64url')

type CursorSite = Pick<SiteRow, 'kind' | 'endpoint' | 'username' | 'settings'>

/** It may hold a session, so nobody but a worker reads it. */
export const sealCursor = (sealer: Sealer, site: CursorSite, cursor: string | null): Buffer | null =>
  cursor === null ? null : sealer.seal(JSON.stringify({ cursor, of: placeOf(site) }))

/** The cursor if a delta can go on from it; null: read everything. */
export const openCursor = (sealer: Sealer, site: CursorSite & Pick<SiteRow, 'cursor'>): string | null => {
  if (site.cursor === null) return null
  try {
    const { cursor, of } = stored.parse(JSON.parse(sealer.open(site.cursor)))
    return of === placeOf(site) ? cursor : null
  } catch {
    // Sealed with an older key: a full reading needs none.
    return null
  }
}
