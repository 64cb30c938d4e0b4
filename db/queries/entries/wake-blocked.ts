import type { Tx } from '../../client.ts'

/** A change that a blocked entry may have waited for. */
export type Changed =
  | { readonly network: { readonly siteId: string; readonly ref: string } }
  | { readonly target: string }
  | { readonly source: string }
  | { readonly instanceId: string }

/** Makes the blocked entries of running batches that a change may help due now, with a fresh count of tries. */
export const wakeBlocked = async (tx: Tx, changed: Changed): Promise<void> => {
  await tx`
    update entry e set look_at = now(), tries = 0 from batch b
    where b.id = e.batch_id and b.state = 'running' and (e.state = 'blocked' or (e.state = 'waiting' and e.tries > 0))
      and ${concerned(tx, changed)}`
}

const concerned = (tx: Tx, changed: Changed) => {
  if ('instanceId' in changed) return tx`e.instance_id = ${changed.instanceId}::uuid`
  // A script may choose any target.
  if ('target' in changed)
    return tx`(b.defaults -> 'placement' ->> 'target' = ${changed.target} or b.config ->> 'placement_scriptlet' <> '')`
  if ('source' in changed)
    return tx`e.source_id = (select id from site where role = 'source' and name = ${changed.source})`
  const { siteId, ref } = changed.network
  return tx`e.source_id = ${siteId}::uuid and exists (select from instance i where i.id = e.instance_id
    and i.facts @> ${JSON.stringify({ nics: [{ network_ref: ref }] })}::text::jsonb)`
}
