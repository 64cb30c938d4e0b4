import { isCopiedRunning } from '../../inventory/copy-way.ts'
import type { InstanceFacts } from '../../inventory/facts.ts'
import { thingOf } from '../../job/token.ts'

/**
 * What a copy of a machine takes of its source: a read of its host, and a snapshot on each of the datastores that its
 * disks are on, for those that a snapshot holds.
 */
export const tokensOfSource = (
  source: string,
  { host, disks }: Pick<InstanceFacts, 'host' | 'disks'>,
): string[] => {
  const datastores = new Set(disks.filter(isCopiedRunning).map(({ datastore }) => datastore))
  datastores.delete('')
  return [
    ...(host === '' ? [] : [`source-host-reads/${thingOf(source, host)}`]),
    ...[...datastores].map((datastore) => `source-snapshots/${thingOf(source, datastore)}`),
  ]
}
