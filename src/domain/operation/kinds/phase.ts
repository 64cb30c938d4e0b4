import type { PowerState } from '../../inventory/facts.ts'
import type { OperationVariant } from './kinds.ts'

/** What a machine is doing, from what was seen of it and from the operation that is at it. */
export const machinePhases = [
  /** It is to start and could not begin to. */
  'pending',
  'starting',
  'running',
  'migrating',
  'stopping',
  'stopped',
  /** Its memory is on disk, and it is off. */
  'hibernated',
  'paused',
  /** Nobody can tell whether it runs. */
  'degraded',
] as const
export type MachinePhase = (typeof machinePhases)[number]

/** Why nobody can tell whether a machine runs. */
export const hostIsSilent = 'Its host does not answer.'

export interface MachineSeen {
  /** Unknown: its host does not answer. */
  readonly power: PowerState | 'unknown'
  /** There is a saved state of it to wake it from. */
  readonly hibernated: boolean
}

/** An operation that has not ended, as far as it changes what its machine is doing. */
export interface AtWork extends OperationVariant {
  /** It has asked the platform for something: what it began may still come about. */
  readonly acted: boolean
}

export const phaseOf = (seen: MachineSeen, active: AtWork | null): MachinePhase => {
  if (active) {
    const phase = underWay(active, seen)
    if (phase) return phase
  }
  switch (seen.power) {
    case 'on':
      return 'running'
    case 'suspended':
      return 'paused'
    case 'off':
      return seen.hibernated ? 'hibernated' : 'stopped'
    case 'unknown':
      return 'degraded'
  }
}

const underWay = ({ kind, acted }: AtWork, { power }: MachineSeen): MachinePhase | undefined => {
  switch (kind) {
    case 'start':
    case 'wake':
      if (power === 'on') return undefined
      return acted ? 'starting' : 'pending'
    case 'stop':
    case 'hibernate':
      // Also before it has asked and when it is just off: until it has ended, a stronger one may take its place.
      return 'stopping'
    case 'restart':
      return acted && power === 'off' ? 'starting' : 'stopping'
    case 'migrate':
    case 'evict':
      return acted ? 'migrating' : undefined
    case 'snapshot':
    case 'restore':
    case 'clone':
      return undefined
  }
}

/**
 * What it will be doing once that operation has given way: a move is aborted first and leaves it running where it
 * was; whatever else was begun may still come about.
 */
export const phaseAfterSupersede = (seen: MachineSeen, superseded: AtWork): MachinePhase =>
  superseded.kind === 'migrate' || superseded.kind === 'evict'
    ? phaseOf(seen, null)
    : phaseOf(seen, superseded)
