import { instanceView } from '../../domain/filter/view.ts'
import type { EntryWork } from './entry-work.ts'

/** The ports that the probes of the batch check on the machine of an entry, each with the names of those probes. */
export const probedPorts = ({ batch, facts, source }: EntryWork): ReadonlyMap<number, readonly string[]> =>
  batch.probedPorts(
    instanceView({
      facts,
      source: source.name,
      source_kind: source.kind,
      // A probe depends on the machine, not on its findings.
      readiness: 'ready',
      findings: [],
    }),
  )
