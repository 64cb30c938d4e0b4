import type { InstanceFacts } from './facts.ts'

/** The parts of a record that identify a machine. */
export interface RecordedIdentity {
  readonly ref: string
  readonly uuid: string
  readonly gone: boolean
}

export interface Identified<Known> {
  /** The record of the machine that was seen; null: a new one. */
  readonly known: Known | null
  /** The platform's id has changed: the machine was registered again, and the record follows. */
  readonly follows: boolean
  /** The tombstone of another machine with the same id, which gives the id up. */
  readonly displaced: Known | null
}

/**
 * The record of a machine within its source. The platform's id decides. A machine without a live record under its id
 * takes over the record with its UUID only if that record's own id is gone (otherwise it is a copy with the same
 * UUID).
 */
export const identify = <Known extends RecordedIdentity>(options: {
  readonly seen: Pick<InstanceFacts, 'ref' | 'uuid'>
  /** The record with this id, alive or a tombstone. */
  readonly atRef: Known | null
  /** Records of this source with this UUID under other ids. */
  readonly sameUuid: readonly Known[]
  /** Whether the same reading proves that this id no longer exists. */
  readonly refIsGone: (ref: string) => boolean
}): Identified<Known> => {
  const { seen, atRef } = options
  const sameMachine = atRef !== null && (atRef.uuid === seen.uuid || atRef.uuid === '' || seen.uuid === '')
  if (atRef && (!atRef.gone || sameMachine)) return { known: atRef, follows: false, displaced: null }
  const left = options.sameUuid.filter(
    (known) => seen.uuid !== '' && known.uuid === seen.uuid && (known.gone || options.refIsGone(known.ref)),
  )
  const known = left.find((candidate) => !candidate.gone) ?? left[0] ?? null
  if (known) return { known, follows: true, displaced: atRef }
  return { known: atRef, follows: false, displaced: null }
}

export const ignoredReasons = {
  template: 'It is a template: instances are cloned from it, it is never migrated.',
  appliance: 'It belongs to the platform itself, which makes it again by itself.',
  'cluster-agent': 'It is an agent machine of a cluster (vCLS), which the platform makes again by itself.',
  'no-configuration': 'The platform shows no configuration of it: it may be orphaned or inaccessible.',
  'no-identity': 'It has no UUID, so nobody could tell it from another machine.',
  'duplicate-uuid': 'Another machine has the same UUID and was there first.',
} as const

export type IgnoredReason = keyof typeof ignoredReasons

export interface Ignored {
  readonly reason: IgnoredReason
  readonly sentence: string
}

/** The first recorded machine with a UUID. */
export interface UuidOwner {
  readonly source: string
  readonly ref: string
  readonly name: string
}

/**
 * Why a machine is ignored, or null. Called with merged facts, so that a machine whose UUID the platform omits for a
 * moment is not lost, and with an owner that is alive in its own source.
 */
export const whyIgnored = (options: {
  readonly facts: InstanceFacts
  readonly source: string
  readonly ownerOf: (uuid: string) => UuidOwner | undefined
}): Ignored | null => {
  const { facts, source } = options
  const because = (reason: IgnoredReason, more = ''): Ignored => ({
    reason,
    sentence: `${ignoredReasons[reason]}${more}`,
  })
  if (facts.template) return because('template')
  if (/^vCLS(-| \(|$)/i.test(facts.name)) return because('cluster-agent')
  if (facts.appliance) return because('appliance')
  if (facts.uuid === '' && facts.cpus === 0 && facts.memory === 0 && facts.disks.length === 0)
    return because('no-configuration')
  if (facts.uuid === '') return because('no-identity')
  const owner = options.ownerOf(facts.uuid)
  if (owner && (owner.source !== source || owner.ref !== facts.ref))
    return because('duplicate-uuid', ` That is ${owner.name} (${owner.ref}) of source ${owner.source}.`)
  return null
}

/** The first machine with a UUID; null: none. */
export interface Owner {
  readonly name: string | null
  readonly ref: string | null
  readonly source: string | null
}

/** Why an instance does not count; null: it does. */
export const whyDuplicate = ({ name, ref, source }: Owner): string | null =>
  ref === null
    ? null
    : `Another machine has the same UUID and was there first. That is ${name} (${ref}) of source ${source}.`
