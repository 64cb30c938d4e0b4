import type { InstanceFacts } from '../inventory/facts.ts'
import { isCopyable } from '../inventory/tracking.ts'

const longest = 128

/** Some names of a platform as the thing of a token. Names that are cut to the same share one limit, and no more. */
const thingOf = (...names: readonly string[]): string =>
  [...names.join('.')]
    .map((sign) =>
      /[\x21-\x24\x26-\x2e\x30-\x7e]/.test(sign) ? sign : `%${sign.codePointAt(0)?.toString(16)}`,
    )
    .join('')
    .slice(0, longest)

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
