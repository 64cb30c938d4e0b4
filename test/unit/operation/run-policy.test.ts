import { expect, test } from 'vitest'
import {
  type EndedOperation,
  operationFollowups,
} from '../../../src/domain/operation/admission/operation-followups.ts'
import {
  type PolicySeen,
  restSeconds,
  wantedByPolicy,
} from '../../../src/domain/operation/admission/run-policy.ts'
import { runPolicies } from '../../../src/domain/operation/kinds/applicability.ts'

const seen: PolicySeen = { policy: 'manual', power: 'off', hibernated: false, stoppedByPerson: false }

test.each<[Partial<PolicySeen>, string | null]>([
  [{ policy: 'always-on' }, 'start'],
  [{ policy: 'always-on', stoppedByPerson: true }, 'start'],
  [{ policy: 'always-on', hibernated: true }, 'wake'],
  [{ policy: 'always-on', power: 'on' }, null],
  [{ policy: 'always-on-unless-stopped' }, 'start'],
  [{ policy: 'always-on-unless-stopped', stoppedByPerson: true }, null],
  [{ policy: 'always-on-unless-stopped', hibernated: true }, null],
  [{ policy: 'always-off' }, null],
  [{ policy: 'always-off', power: 'on' }, 'stop'],
  [{ policy: 'manual' }, null],
  [{ policy: 'manual', power: 'on' }, null],
])('a machine that is %o is to: %s', (given, wanted) => {
  expect(wantedByPolicy({ ...seen, ...given })).toBe(wanted)
})

test('nothing is done to a machine of which nobody knows whether it runs, or that is only paused', () => {
  for (const policy of runPolicies)
    for (const power of ['unknown', 'suspended'] as const)
      expect(wantedByPolicy({ ...seen, policy, power })).toBeNull()
})

test('rests grow from two seconds to five minutes', () => {
  expect([1, 2, 3, 8, 9, 40, 0].map(restSeconds)).toEqual([2, 4, 8, 256, 300, 300, 2])
})

const ended: EndedOperation = {
  ...{ kind: 'stop', cause: 'person', state: 'completed', begun: true, standsDown: false, failures: 2 },
}

test('a person who stops a machine is remembered until a person starts it', () => {
  expect(operationFollowups(ended)).toEqual({ stopped: true })
  // The guest took too long; it may go off yet, and is to stay so then.
  expect(operationFollowups({ ...ended, state: 'failed' })).toEqual({ stopped: true })
  expect(operationFollowups({ ...ended, state: 'failed', begun: false })).toEqual({})
  for (const kind of ['start', 'restart', 'wake'] as const)
    for (const state of ['completed', 'failed'] as const)
      expect(operationFollowups({ ...ended, kind, state })).toEqual({ stopped: false })
  expect(operationFollowups({ ...ended, kind: 'start', state: 'superseded' })).toEqual({})
  expect(operationFollowups({ ...ended, kind: 'migrate' })).toEqual({})
})

test('a run policy tries again, ever later after failures, and not at once after a person has cancelled', () => {
  const policy: EndedOperation = { ...ended, cause: 'policy', kind: 'start' }
  expect(operationFollowups(policy)).toEqual({ policy: { failures: 0, restSeconds: 10 } })
  expect(operationFollowups({ ...policy, state: 'failed' })).toEqual({
    policy: { failures: 3, restSeconds: 8 },
  })
  expect(operationFollowups({ ...policy, state: 'canceled' })).toEqual({
    policy: { failures: 2, restSeconds: 300 },
  })
  expect(operationFollowups({ ...policy, state: 'superseded' })).toEqual({
    policy: { failures: 2, restSeconds: 10 },
  })
})

test('an evacuation comes back after who took its place and after failures, and not after a person has cancelled', () => {
  const evict: EndedOperation = { ...ended, cause: 'evacuation', kind: 'evict', standsDown: true }
  expect(operationFollowups({ ...evict, state: 'superseded' })).toEqual({
    resumption: { failures: 2, restSeconds: 0 },
  })
  expect(operationFollowups({ ...evict, state: 'failed' })).toEqual({
    resumption: { failures: 3, restSeconds: 8 },
  })
  expect(operationFollowups({ ...evict, state: 'canceled' })).toEqual({})
  expect(operationFollowups({ ...evict, state: 'completed' })).toEqual({})
})
