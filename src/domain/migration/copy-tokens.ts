import type { InstanceFacts } from '../inventory/facts.ts'
import { isCopyable } from '../inventory/tracking.ts'
import { thingOf } from '../job/token.ts'

/**
 * What a copy of a machine takes of its source: a read of its host, and a snapshot on each of the datastores that its
 * disks are on.
 */
export const tokensOfSource = (
  source: string,
  { host, disks }: Pick<InstanceFacts, 'host' | 'disks'>,
): string[] => {
  const datastores = new Set(disks.filter(isCopyable).map(({ datastore }) => datastore))
  datastores.delete('')
  return [
    ...(host === '' ? [] : [`source-host-reads/${thingOf(source, host)}`]),
    ...[...datastores].map((datastore) => `source-snapshots/${thingOf(source, datastore)}`),
  ]
}
