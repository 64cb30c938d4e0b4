import type { InstanceFacts } from './facts.ts'
import { canonicalJson } from './facts-hash.ts'
import { anyDiskChange, diskChanges } from './tracking.ts'

/** Kinds of change that cause a reaction. */
export const instanceChanges = [
  'returned',
  'vanished',
  /** Another UUID at the same id: as far as can be told, another machine. */
  'identity-changed',
  /** The same UUID under another id of the platform: the machine was registered again. */
  'registered-again',
  'renamed',
  'moved',
  'power-changed',
  'host-changed',
  'resized',
  'disks-changed',
  'nics-changed',
  'snapshots-changed',
  'tracking-changed',
  'tags-changed',
] as const

export type InstanceChange = (typeof instanceChanges)[number]

const part = (...fields: (keyof InstanceFacts)[]) => {
  return (before: InstanceFacts, after: InstanceFacts): boolean =>
    fields.some((field) => {
      const [a, b] = [before[field], after[field]]
      return a !== b && (typeof a !== 'object' || canonicalJson(a) !== canonicalJson(b))
    })
}

const wiring = (facts: InstanceFacts): string =>
  canonicalJson(facts.nics.map(({ key, mac, network_ref, connected }) => [key, mac, network_ref, connected]))

const tests: readonly [InstanceChange, (before: InstanceFacts, after: InstanceFacts) => boolean][] = [
  [
    'identity-changed',
    (before, after) => before.uuid !== after.uuid && before.uuid !== '' && after.uuid !== '',
  ],
  ['registered-again', part('ref')],
  ['renamed', part('name')],
  // A rename changes the last part of the path too; that alone is not a move.
  [
    'moved',
    (before, after) =>
      part('folder', 'datacenter', 'cluster', 'resource_pool')(before, after) ||
      (before.name === after.name && before.location !== after.location),
  ],
  ['power-changed', part('power_state', 'running')],
  ['host-changed', part('host')],
  ['resized', part('cpus', 'memory')],
  ['disks-changed', (before, after) => anyDiskChange(diskChanges(before.disks, after.disks))],
  ['nics-changed', (before, after) => wiring(before) !== wiring(after)],
  ['snapshots-changed', part('snapshots')],
  ['tracking-changed', part('background_import')],
  ['tags-changed', part('tags', 'attributes')],
]

export const changeKinds = (before: InstanceFacts, after: InstanceFacts): InstanceChange[] =>
  tests.filter(([, changed]) => changed(before, after)).map(([kind]) => kind)
