import type { OperationKind, OperationVariant } from './kinds.ts'
import type { MachinePhase } from './phase.ts'

/** Who decides whether a machine runs. */
export const runPolicies = ['manual', 'always-on', 'always-on-unless-stopped', 'always-off'] as const
export type RunPolicy = (typeof runPolicies)[number]

interface ApplicabilityRule {
  readonly policies: readonly RunPolicy[]
  readonly phases: readonly MachinePhase[]
  /** And in these, with force. */
  readonly forcedPhases?: readonly MachinePhase[]
}

const byPerson: readonly RunPolicy[] = ['manual', 'always-on-unless-stopped']
const notOff: readonly RunPolicy[] = [...byPerson, 'always-on']

/** Where each kind makes sense. What is not here is refused, and never waits for its machine to become fit. */
export const applicability: Readonly<Record<OperationKind, ApplicabilityRule>> = {
  start: { policies: byPerson, phases: ['stopped', 'stopping'] },
  stop: {
    policies: byPerson,
    phases: ['pending', 'starting', 'running', 'paused', 'degraded'],
    forcedPhases: ['stopping'],
  },
  restart: {
    policies: notOff,
    phases: ['starting', 'running', 'paused', 'degraded'],
    forcedPhases: ['stopping'],
  },
  migrate: { policies: notOff, phases: ['running'] },
  evict: { policies: notOff, phases: ['running'] },
  hibernate: { policies: byPerson, phases: ['running'] },
  wake: { policies: byPerson, phases: ['hibernated'] },
  snapshot: { policies: runPolicies, phases: ['running', 'paused', 'stopped'] },
  restore: { policies: runPolicies, phases: ['stopped', 'running', 'pending'] },
  clone: { policies: runPolicies, phases: ['stopped', 'running'] },
}

export type Applicable = 'yes' | 'not-for-run-policy' | 'not-for-phase'

/** Whether it can be done to a machine of that policy which is doing that. */
export const isApplicable = (
  { kind, force }: OperationVariant,
  machine: { readonly policy: RunPolicy; readonly phase: MachinePhase },
): Applicable => {
  if (!allowsPolicy(kind, machine.policy)) return 'not-for-run-policy'
  const rule = applicability[kind]
  const phases = force ? [...rule.phases, ...(rule.forcedPhases ?? [])] : rule.phases
  return phases.includes(machine.phase) ? 'yes' : 'not-for-phase'
}

/** Whether who decides about the machine's power leaves room for it. */
export const allowsPolicy = (kind: OperationKind, policy: RunPolicy): boolean =>
  applicability[kind].policies.includes(policy)
