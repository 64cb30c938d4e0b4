import type { RunPolicy } from '../kinds/applicability.ts'
import type { OperationKind } from '../kinds/kinds.ts'
import type { MachineSeen } from '../kinds/phase.ts'

export interface PolicySeen extends MachineSeen {
  readonly policy: RunPolicy
  /** It is off because a person wanted it so. */
  readonly stoppedByPerson: boolean
}

/** What a run policy has done to a machine that nothing else is done to; null: it is as the policy has it, or unknown. */
export const wantedByPolicy = (seen: PolicySeen): OperationKind | null => {
  const { policy, power, hibernated, stoppedByPerson } = seen
  switch (policy) {
    case 'manual':
      return null
    case 'always-on':
      if (power !== 'off') return null
      return hibernated ? 'wake' : 'start'
    case 'always-on-unless-stopped':
      // Whoever has it hibernated wants it off as much as who stops it.
      return power === 'off' && !stoppedByPerson && !hibernated ? 'start' : null
    case 'always-off':
      return power === 'on' ? 'stop' : null
  }
}

const backoffCapSeconds = 300

/** How long to rest after that many failures in a row: 2 s, 4 s, 8 s … up to five minutes. */
export const restSeconds = (failures: number): number =>
  Math.min(backoffCapSeconds, 2 ** Math.min(Math.max(failures, 1), 10))
