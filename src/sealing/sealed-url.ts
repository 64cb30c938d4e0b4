import type { Sealer } from '../seal/seal.ts'
import { webhookUrlPlace } from '../seal/seal-places.ts'

/** A webhook's URL as its row has it: the origin for everybody, the whole for who delivers. */
export const sealUrl = (
  sealer: Sealer,
  id: string,
  url: string,
): { readonly origin: string; readonly sealedUrl: Buffer } => {
  const { origin } = new URL(url)
  return { origin, sealedUrl: sealer.seal(url, webhookUrlPlace(id, origin)) }
}
