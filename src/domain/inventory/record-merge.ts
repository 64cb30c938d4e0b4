import { type Change, diffFacts } from './changes.ts'
import type { HostFacts, NetworkFacts, StorageFacts } from './facts.ts'

/** What becomes of one record of a network, host or datastore; see `Action` in merge.ts. */
export interface RecordDecision<Facts> {
  readonly action: 'insert' | 'update' | 'unchanged' | 'pend' | 'settle' | 'return'
  readonly facts: Facts
  readonly pending: Facts | null
  readonly changes: readonly Change[]
}

export interface KnownRecord<Facts> {
  readonly facts: Facts
  readonly gone: boolean
  readonly pending: Facts | null
}

/** `frozen`: a running batch has placed NICs on the network. */
export const decideRecord = <Facts extends HostFacts | NetworkFacts | StorageFacts>(options: {
  readonly known: KnownRecord<Facts> | null
  readonly seen: Facts
  readonly frozen: boolean
}): RecordDecision<Facts> => {
  const { known, seen, frozen } = options
  if (!known) return { action: 'insert', facts: seen, pending: null, changes: [] }
  const changes = diffFacts(known.facts, seen)
  if (changes.length === 0) {
    const action = known.gone ? 'return' : known.pending ? 'settle' : 'unchanged'
    return { action, facts: known.facts, pending: null, changes }
  }
  if (!frozen) return { action: known.gone ? 'return' : 'update', facts: seen, pending: null, changes }
  if (known.gone) return { action: 'return', facts: known.facts, pending: seen, changes }
  if (known.pending && diffFacts(known.pending, seen).length === 0)
    return { action: 'unchanged', facts: known.facts, pending: known.pending, changes: [] }
  return { action: 'pend', facts: known.facts, pending: seen, changes }
}

/**
 * A network's facts and whether something frozen depends on them; the source's NSX service may provide the segment
 * later.
 */
export const decideNetwork = (options: {
  readonly known: KnownRecord<NetworkFacts> | null
  readonly seen: NetworkFacts
  readonly frozen: boolean
}): RecordDecision<NetworkFacts> => {
  const { known, seen } = options
  if (!known) return decideRecord(options)
  const segment = seen.segment_id || known.facts.segment_id
  const subnets = seen.subnets.length > 0 ? seen.subnets : known.facts.subnets
  return decideRecord({ ...options, seen: { ...seen, segment_id: segment, subnets } })
}
