import { instanceView } from '../../domain/filter/view.ts'
import type { EntryWork } from './entry-work.ts'

/** The ports that the probes of its batch ask of the machine of a journey, each with the names of those probes. */
export const probedPorts = ({ batch, facts, source }: EntryWork): ReadonlyMap<number, readonly string[]> =>
  batch.probedPorts(
    instanceView({
      facts,
      source: source.name,
      source_kind: source.kind,
      // A probe asks what a machine is, not what speaks against it.
      readiness: 'ready',
      findings: [],
    }),
  )
