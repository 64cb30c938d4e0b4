import { type Change, diffFacts } from './changes.ts'
import type { InstanceFacts, NicFacts } from './facts.ts'
import { canonicalJson } from './facts-hash.ts'
import { changeKinds, type InstanceChange } from './instance-change.ts'
import { carryTracking, type TrackingRecord } from './tracking.ts'

/** Changes at the source of a frozen instance that its record does not have yet. */
export type Pending = { readonly type: 'facts'; readonly facts: InstanceFacts } | { readonly type: 'gone' }

/** An instance as it is recorded. */
export interface KnownInstance {
  readonly facts: InstanceFacts
  readonly tracking: TrackingRecord
  /** A tombstone: the source no longer has it. */
  readonly gone: boolean
  readonly pending: Pending | null
}

/**
 * - `insert`: new.
 * - `update`: the record becomes `facts`.
 * - `unchanged`: nothing to write.
 * - `pend`: frozen; `pending` is stored and the record stays.
 * - `settle`: the pending change has gone: the record stays, `pending` is cleared.
 * - `return`: a tombstone that exists again; the record becomes `facts`.
 * - `vanish`: it becomes a tombstone; the facts stay readable.
 */
export type Action = 'insert' | 'update' | 'unchanged' | 'pend' | 'settle' | 'return' | 'vanish'

/** What the store writes: every field is the value after the action. */
export interface Decision {
  readonly action: Action
  readonly facts: InstanceFacts
  readonly tracking: TrackingRecord
  readonly pending: Pending | null
  /** Between the record and what was seen, also when only pending. Empty for an insert. */
  readonly changes: readonly Change[]
  /** The same as kinds of change. */
  readonly kinds: readonly InstanceChange[]
}

/** Facts that a platform omits while a guest is off, or never knew: an empty value keeps the known one. */
const kept = [
  'uuid',
  'bios_uuid',
  'architecture',
  'os',
  'os_description',
  'os_template',
] as const satisfies readonly (keyof InstanceFacts)[]

const mergeNic = (before: NicFacts | undefined, nic: NicFacts, guestAnswers: boolean): NicFacts => {
  if (guestAnswers || !before || before.mac !== nic.mac) return nic
  return {
    ...nic,
    ipv4_addresses: nic.ipv4_addresses.length > 0 ? nic.ipv4_addresses : before.ipv4_addresses,
    ipv6_addresses: nic.ipv6_addresses.length > 0 ? nic.ipv6_addresses : before.ipv6_addresses,
  }
}

/** The current facts, from the record and the reading: both clean, and of the same machine. */
export const mergeInstance = (before: InstanceFacts, seen: InstanceFacts): InstanceFacts => {
  const texts = Object.fromEntries(kept.map((field) => [field, seen[field] || before[field]])) as Pick<
    InstanceFacts,
    (typeof kept)[number]
  >
  // Only a running guest that answers can report that an address is gone.
  const guestAnswers = seen.running && seen.guest.agent === 'running'
  const nics = new Map(before.nics.map((nic) => [nic.key, nic]))
  const disks = new Map(before.disks.map((disk) => [disk.key, disk]))
  return {
    ...seen,
    ...texts,
    nics: seen.nics.map((nic) => mergeNic(nics.get(nic.key), nic, guestAnswers)),
    disks: seen.disks.map((disk) => {
      const earlier = disks.get(disk.key)
      if (earlier?.name !== disk.name) return disk
      return { ...disk, used: disk.used ?? earlier.used, thin: disk.thin ?? earlier.thin }
    }),
    guest: guestAnswers
      ? seen.guest
      : {
          agent: seen.guest.agent === 'unknown' ? before.guest.agent : seen.guest.agent,
          agent_version: seen.guest.agent_version || before.guest.agent_version,
          hostname: seen.guest.hostname || before.guest.hostname,
        },
  }
}

const equal = (a: unknown, b: unknown): boolean => a === b || canonicalJson(a) === canonicalJson(b)

/**
 * Without values that change constantly while a machine runs: the fill level of its disks, and the tracking position.
 */
const settled = (facts: InstanceFacts): InstanceFacts => ({
  ...facts,
  disks: facts.disks.map((disk) => ({ ...disk, used: null, change_id: null })),
})

const otherMachine = (before: InstanceFacts, seen: InstanceFacts): boolean =>
  before.uuid !== '' && seen.uuid !== '' && before.uuid !== seen.uuid

const decideFrozen = (known: KnownInstance, facts: InstanceFacts): Decision => {
  const same = { facts: known.facts, tracking: known.tracking }
  const [recorded, now] = [settled(known.facts), settled(facts)]
  if (equal(recorded, now)) {
    const action = known.gone ? 'return' : known.pending ? 'settle' : 'unchanged'
    return { action, ...same, pending: null, changes: [], kinds: known.gone ? ['returned'] : [] }
  }
  const changes = diffFacts(recorded, now)
  const kinds = changeKinds(known.facts, facts)
  const pending: Pending = { type: 'facts', facts }
  const isPending =
    known.pending?.type === 'facts' && !known.gone && equal(settled(known.pending.facts), settled(facts))
  if (isPending) return { action: 'unchanged', ...same, pending: known.pending, changes: [], kinds: [] }
  if (known.gone) return { action: 'return', ...same, pending, changes, kinds: ['returned', ...kinds] }
  return { action: 'pend', ...same, pending, changes, kinds }
}

/** What becomes of an instance's record, given clean facts. `frozen`: a running batch depends on the record. */
export const decideInstance = (options: {
  readonly known: KnownInstance | null
  readonly seen: InstanceFacts
  readonly frozen: boolean
}): Decision => {
  const { known, seen } = options
  if (!known) return { action: 'insert', facts: seen, tracking: {}, pending: null, changes: [], kinds: [] }
  // Another identity under the same id is another machine: none of the old facts apply.
  const other = otherMachine(known.facts, seen)
  const facts = other ? seen : mergeInstance(known.facts, seen)
  if (options.frozen) return decideFrozen(known, facts)
  const changes = diffFacts(known.facts, facts)
  const kinds = changes.length === 0 ? [] : changeKinds(known.facts, facts)
  const tracking = other ? {} : carryTracking(known.tracking, known.facts, facts)
  const after = { facts, tracking, pending: null, changes }
  if (known.gone) return { action: 'return', ...after, kinds: ['returned', ...kinds] }
  if (changes.length > 0) return { action: 'update', ...after, kinds }
  return { action: known.pending ? 'settle' : 'unchanged', ...after, kinds: [] }
}

/** What becomes of an instance that a complete reading of its source did not show. */
export const decideVanished = (options: {
  readonly known: KnownInstance
  readonly frozen: boolean
}): Decision => {
  const { known } = options
  const same = { facts: known.facts, tracking: known.tracking, changes: [] }
  if (known.gone) return { action: 'unchanged', ...same, pending: known.pending, kinds: [] }
  if (!options.frozen) return { action: 'vanish', ...same, pending: null, kinds: ['vanished'] }
  if (known.pending?.type === 'gone')
    return { action: 'unchanged', ...same, pending: known.pending, kinds: [] }
  return { action: 'pend', ...same, pending: { type: 'gone' }, kinds: ['vanished'] }
}
