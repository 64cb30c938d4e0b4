import { describe, expect, test } from 'vitest'
import { operationShape } from '../../../src/api/resources/operation/operation-ask.ts'
import {
  isApplicable,
  type RunPolicy,
  runPolicies,
} from '../../../src/domain/operation/kinds/applicability.ts'
import { operationVariants, variantText } from '../../../src/domain/operation/kinds/kinds.ts'
import { type MachinePhase, machinePhases } from '../../../src/domain/operation/kinds/phase.ts'

/**
 * Written down by hand: under which run policies each makes sense for a machine that is in the phase of the column.
 * m: manual, u: always-on-unless-stopped, o: always-on, f: always-off.
 */
const table = `
           pending starting running migrating stopping stopped hibernated paused degraded
start      -       -        -       -         mu       mu      -          -      -
stop       mu      mu       mu      -         -        -       -          mu     mu
stop!      mu      mu       mu      -         mu       -       -          mu     mu
restart    -       muo      muo     -         -        -       -          muo    muo
restart!   -       muo      muo     -         muo      -       -          muo    muo
migrate    -       -        muo     -         -        -       -          -      -
migrate!   -       -        muo     -         -        -       -          -      -
evict      -       -        muo     -         -        -       -          -      -
evict!     -       -        muo     -         -        -       -          -      -
hibernate  -       -        mu      -         -        -       -          -      -
wake       -       -        -       -         -        -       mu         -      -
snapshot   -       -        muof    -         -        muof    -          muof   -
restore    muof    -        muof    -         -        muof    -          -      -
clone      -       -        muof    -         -        muof    -          -      -
`

const letters: Readonly<Record<RunPolicy, string>> = {
  manual: 'm',
  'always-on-unless-stopped': 'u',
  'always-on': 'o',
  'always-off': 'f',
}

const [head = '', ...rows] = table.trim().split('\n')
const columns = head.trim().split(/\s+/)
const cells = new Map(
  rows.map((row) => {
    const [variant = '', ...policies] = row.trim().split(/\s+/)
    return [variant, new Map(columns.map((phase, at) => [phase, policies[at] ?? '?']))] as const
  }),
)

/** By the table; of what no phase would mend it says that. */
const expected = (variant: string, policy: RunPolicy, phase: MachinePhase): string => {
  const row = cells.get(variant) ?? new Map<string, string>()
  if (row.get(phase)?.includes(letters[policy])) return 'yes'
  return [...row.values()].some((cell) => cell.includes(letters[policy]))
    ? 'not-for-phase'
    : 'not-for-run-policy'
}

test('the table has all fourteen variants and all nine phases, and nothing else', () => {
  expect([...cells.keys()].sort()).toEqual(operationVariants.map(variantText).sort())
  expect([...columns].sort()).toEqual([...machinePhases].sort())
  expect(Object.keys(letters).sort()).toEqual([...runPolicies].sort())
  for (const row of cells.values()) for (const cell of row.values()) expect(cell).toMatch(/^(-|mu|muo|muof)$/)
})

describe.each(runPolicies)('under the run policy %s', (policy) => {
  test.each(machinePhases)('what makes sense for a machine that is %s is what the table says', (phase) => {
    const judged = operationVariants.map((one) => [variantText(one), isApplicable(one, { policy, phase })])
    const written = operationVariants.map((one) => {
      const text = variantText(one)
      return [text, expected(text, policy, phase)]
    })
    expect(judged).toEqual(written)
  })
})

test.each([
  [undefined, 'not-for-phase'],
  [false, 'not-for-phase'],
  [true, 'yes'],
] as const)('with force %s a machine that is stopping is for stop and restart: %s', (given, outcome) => {
  const force = operationShape.force.parse(given)
  for (const kind of ['stop', 'restart'] as const)
    expect(isApplicable({ kind, force }, { policy: 'manual', phase: 'stopping' })).toBe(outcome)
})
