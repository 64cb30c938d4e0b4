import type { Tx } from '../../client.ts'

export interface CheckedConnection {
  readonly siteId: string
  readonly connectivity: string
  /** JSON text. */
  readonly error: string | null
  readonly seenCertificate: string | null
  /** The identity of the platform; null: no answer, and the known one stays. */
  readonly identity: string | null
  readonly capabilities: readonly string[] | null
  readonly intervalSeconds: number
  /** It is reachable again, or for the first time: everything that waits for it is due. */
  readonly syncNow: boolean
}

/** Records the result of a connection check. */
export const recordConnectivity = async (tx: Tx, checked: CheckedConnection): Promise<void> => {
  const { capabilities, intervalSeconds } = checked
  await tx`
    update site set
      connectivity_since = case when connectivity <> ${checked.connectivity}
          or connectivity_error->>'code' is distinct from ${checked.error}::text::jsonb->>'code'
        then now() else connectivity_since end,
      connectivity = ${checked.connectivity}, connectivity_error = ${checked.error}::text::jsonb,
      seen_certificate = ${checked.seenCertificate}::text::jsonb,
      identity = coalesce(${checked.identity}::text::jsonb, identity),
      capabilities = coalesce(${capabilities as string[] | null}::text[], capabilities),
      checked_at = now(),
      next_check_at = now() + ${intervalSeconds} * interval '1 second' * (
        0.9 + 0.2 * ((hashtextextended(id::text, extract(epoch from now())::bigint / 3600) & 1023) / 1023.0)),
      next_sync_at = case when ${checked.syncNow} and next_sync_at < 'infinity' then now() else next_sync_at end
    where id = ${checked.siteId}::uuid`
}
