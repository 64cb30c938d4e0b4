import { isCopiedRunning } from '../../inventory/copy-way.ts'
import type { InstanceFacts } from '../../inventory/facts.ts'
import { thingOf } from '../../job/token.ts'

/**
 * The tokens of a copy at its source: a read of its host, and a snapshot on each datastore with disks that a snapshot
 * holds.
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
