import type { RunPolicy } from '../kinds/applicability.ts'
import type { OperationKind } from '../kinds/kinds.ts'
import type { MachineSeen } from '../kinds/phase.ts'

export interface PolicySeen extends MachineSeen {
  readonly policy: RunPolicy
  /** A person wants it off. */
  readonly stoppedByPerson: boolean
}

/**
 * The operation by which a run policy restores the wanted state of an idle machine; null: the state is as wanted, or
 * unknown.
 */
export const wantedByPolicy = (seen: PolicySeen): OperationKind | null => {
  const { policy, power, hibernated, stoppedByPerson } = seen
  switch (policy) {
    case 'manual':
      return null
    case 'always-on':
      if (power !== 'off') return null
      return hibernated ? 'wake' : 'start'
    case 'always-on-unless-stopped':
      // A person who hibernated the machine wants it off, as after a stop.
      return power === 'off' && !stoppedByPerson && !hibernated ? 'start' : null
    case 'always-off':
      return power === 'on' ? 'stop' : null
  }
}

const backoffCapSeconds = 300

/** The pause after this many failures in a row: 2 s, 4 s, 8 s … up to five minutes. */
export const restSeconds = (failures: number): number =>
  Math.min(backoffCapSeconds, 2 ** Math.min(Math.max(failures, 1), 10))
