import { type Change, diffFacts } from '../../inventory/changes.ts'
import type { DiskFacts } from '../../inventory/facts.ts'
import type { EffectiveFacts } from '../../inventory/overrides.ts'
import { anyDiskChange, type DiskChanges, diskChanges } from '../../inventory/tracking.ts'
import type { Reason } from '../entry/entry-facts.ts'
import type { Placement } from '../place/placement.ts'

/** The record of an instance: as frozen, or as the source is now. */
export interface Committed {
  readonly facts: EffectiveFacts
  readonly placement: Placement
}

export interface CompareAsk {
  readonly committed: Committed
  /** The source as it is now, with overrides, merged as in a sync: an empty value keeps the known one. */
  readonly now: EffectiveFacts
  /** The placement if it were placed now, script included; null: it cannot be decided, and `problems` says why. */
  readonly placement: Placement | null
  /** Problems of the new placement, including those on the live target. */
  readonly problems: readonly Reason[]
  /** `force_conflict_resolution` of the batch. */
  readonly force: boolean
}

export type CompareAnswer =
  /** Unchanged. */
  | { readonly is: 'same' }
  /** Changed in what may change: `record` becomes the record. */
  | { readonly is: 'adopt'; readonly record: Committed; readonly diff: readonly Change[] }
  /** Changed, and by force the first placement and configuration stay. */
  | { readonly is: 'keep'; readonly ignored: readonly Reason[]; readonly diff: readonly Change[] }
  /** A person decides; `pending` is kept apart from the record. */
  | {
      readonly is: 'conflict'
      readonly reasons: readonly [Reason, ...Reason[]]
      readonly pending: { readonly facts: EffectiveFacts; readonly placement: Placement | null }
      readonly diff: readonly Change[]
    }
  /** No longer what was copied; `event` is the table's. */
  | {
      readonly is: 'error'
      readonly event: 'identity-changed' | 'fail'
      readonly reason: Reason
      readonly diff: readonly Change[]
    }

/** Values that vary while a guest runs, or because we switched it off: no change of the instance. */
const fleeting = [
  'power_state',
  'running',
  'host',
  'guest',
  'snapshots',
  'needs_consolidation',
] as const satisfies readonly (keyof EffectiveFacts)[]

const lasting = (facts: EffectiveFacts): object => {
  const { disks, ...rest } = facts
  const kept = Object.entries(rest).filter(([name]) => !fleeting.some((one) => one === name))
  return {
    ...Object.fromEntries(kept),
    disks: disks.map(({ used: _used, change_id: _position, ...disk }: DiskFacts) => disk),
  }
}

/** The changes of instance and placement, as a person sees them. */
export const diffCommitted = (
  before: Committed,
  now: { readonly facts: EffectiveFacts; readonly placement: Placement | null },
): Change[] =>
  diffFacts(
    { instance: lasting(before.facts), placement: before.placement },
    { instance: lasting(now.facts), placement: now.placement ?? before.placement },
  )

/** The last comparison before the target starts: the record with source and target as they are. */
export const compareFinal = (ask: CompareAsk): CompareAnswer => {
  const { committed, now, force } = ask
  // The machine is on its host already: the host of a new placement does not matter.
  const placement = ask.placement && { ...ask.placement, host: committed.placement.host }
  const diff = diffCommitted(committed, { facts: now, placement })
  const broken = whatBroke(committed.facts, now)
  if (broken) return { is: 'error', ...broken, diff }
  const [first, ...others] = conflicts(ask)
  if (first) {
    const reasons = [first, ...others] as const
    return force
      ? { is: 'keep', ignored: reasons, diff }
      : { is: 'conflict', reasons: [first, ...others], pending: { facts: now, placement }, diff }
  }
  if (diff.length === 0 || !placement) return { is: 'same' }
  // It is off because of Drover now; its final power state was decided when the batch started.
  const { running, power_state } = committed.facts
  const record = {
    facts: { ...now, running, power_state },
    placement,
  }
  return { is: 'adopt', record, diff }
}

const whatBroke = (
  before: EffectiveFacts,
  now: EffectiveFacts,
): { event: 'identity-changed' | 'fail'; reason: Reason } | undefined => {
  const fail = (code: string, message: string) => ({ event: 'fail' as const, reason: { code, message } })
  if (now.uuid !== before.uuid)
    return {
      event: 'identity-changed',
      reason: {
        code: 'identity-changed',
        message: `The UUID of the source changed from ${before.uuid || 'none'} to ${now.uuid || 'none'}: it may be another machine, so it is not started. Look at it, then cancel or retry.`,
      },
    }
  if (now.target_name !== before.target_name)
    return fail(
      'name-changed',
      `Its name changed from "${before.target_name}" to "${now.target_name}" after it was placed.`,
    )
  const changes = diskChanges(before.disks, now.disks)
  return anyDiskChange(changes) ? fail('disks-changed', describeDisks(changes)) : undefined
}

const describeDisks = ({ added, removed, resized, replaced }: DiskChanges): string => {
  const parts = [
    ['added', added],
    ['removed', removed],
    ['resized', resized],
    ['replaced', replaced],
  ] as const
  const told = parts
    .filter(([, keys]) => keys.length > 0)
    .map(([what, keys]) => `${what}: ${keys.join(', ')}`)
  return `Its disks changed after they were copied (${told.join('; ')}).`
}

const conflicts = ({ committed, placement, problems }: CompareAsk): Reason[] => {
  if (!placement)
    return problems.length > 0
      ? [...problems]
      : [{ code: 'placement-unknown', message: 'Where it lands could not be worked out.' }]
  const before = committed.placement
  const moved = (what: string, from: string, to: string): Reason[] =>
    from === to
      ? []
      : [{ code: 'placement-changed', message: `Its ${what} would be "${to}" now; it was "${from}".` }]
  const disks = new Set([...Object.keys(before.pools), ...Object.keys(placement.pools)])
  return [
    ...moved('target', before.target, placement.target),
    ...moved('project', before.project, placement.project),
    ...[...disks].flatMap((disk) =>
      moved(`pool of disk ${disk}`, before.pools[disk] ?? '', placement.pools[disk] ?? ''),
    ),
    ...problems,
  ]
}
