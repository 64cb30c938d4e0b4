import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  type AdmissionAsk,
  type AdmissionFacts,
  conflictRules,
  decideAdmission,
  queueMost,
  startingKinds,
} from '../../../src/domain/operation/admission/admit.ts'
import {
  applicability,
  isApplicable,
  runPolicies,
} from '../../../src/domain/operation/kinds/applicability.ts'
import { operationVariants } from '../../../src/domain/operation/kinds/kinds.ts'
import { supersedes } from '../../../src/domain/operation/kinds/matrix.ts'
import { phaseAfterSupersede, phaseOf } from '../../../src/domain/operation/kinds/phase.ts'

const idle: AdmissionFacts = {
  seen: { power: 'off', hibernated: false },
  policy: 'manual',
  active: null,
  stillActive: null,
  queued: [],
  migrating: null,
  source: null,
  startRefused: null,
  hostUnknown: false,
}
const start = { kind: 'start', force: false } as const
const stop = { kind: 'stop', force: false } as const
const restartNow = { kind: 'restart', force: true } as const
const ask = (variant: Omit<AdmissionAsk, 'onConflict'>): AdmissionAsk => ({
  ...variant,
  onConflict: 'supersede',
})
const active = (variant: Omit<AdmissionAsk, 'onConflict'>, acted: boolean, pastReturn = false) => ({
  ...variant,
  id: 'older',
  acted,
  pastReturn,
})

test('a stop takes the place of a start that could not begin', () => {
  const facts = { ...idle, active: active(start, false) }
  expect(decideAdmission(facts, ask(stop))).toMatchObject({ admitted: true, supersedes: 'older' })
})

test('a restart by force takes the place of a move under way, and of a stop whose guest has just gone off', () => {
  const on = { ...idle, seen: { power: 'on', hibernated: false } } as const
  const moving = { ...on, active: active({ kind: 'migrate', force: false }, true) }
  expect(decideAdmission(moving, ask(restartNow))).toMatchObject({ admitted: true, supersedes: 'older' })
  const gone = { ...idle, active: active(stop, true) }
  expect(decideAdmission(gone, ask(restartNow))).toMatchObject({ admitted: true, supersedes: 'older' })
})

test('what could not be done then destroys nothing', () => {
  const facts = { ...idle, policy: 'always-on', active: active(start, true) } as const
  expect(decideAdmission(facts, ask(stop))).toEqual({
    admitted: false,
    reason: 'not-for-run-policy',
    blocker: null,
  })
})

test('a move past its return is not superseded', () => {
  const on = { ...idle, seen: { power: 'on', hibernated: false } } as const
  const facts = { ...on, active: active({ kind: 'evict', force: false }, true, true) }
  expect(decideAdmission(facts, ask(stop))).toEqual({
    admitted: false,
    reason: 'past-return',
    blocker: 'older',
  })
})

test('a machine in a committed migration is left alone, but for a stop by force that ends the migration first', () => {
  const facts = {
    ...idle,
    seen: { power: 'on', hibernated: false },
    migrating: { entryId: 'e', committed: true },
  } as const
  expect(decideAdmission(facts, ask(stop))).toMatchObject({ admitted: false, reason: 'in-migration' })
  expect(decideAdmission(facts, ask({ kind: 'stop', force: true }))).toMatchObject({
    admitted: true,
    cancelsEntry: 'e',
  })
})

test('a machine of a migration that has not asked its source to go off is left alone altogether', () => {
  const facts = {
    ...idle,
    seen: { power: 'on', hibernated: false },
    migrating: { entryId: 'e', committed: false },
  } as const
  for (const asked of operationVariants)
    expect(decideAdmission(facts, ask(asked))).toMatchObject({ reason: 'in-migration', blocker: 'e' })
})

test('who asks to queue stands behind all others, up to a bound', () => {
  const facts = { ...idle, active: active(start, true), queued: ['a', 'b'] }
  const queue = { ...start, onConflict: 'queue' } as const
  expect(decideAdmission(facts, queue)).toMatchObject({ admitted: true, state: 'queued', before: 3 })
  const full = { ...facts, queued: Array.from({ length: queueMost }, (_, index) => `q${index}`) }
  expect(decideAdmission(full, queue)).toMatchObject({ admitted: false, reason: 'queue-full' })
})

test('what the run policy forbids cannot stand in line either', () => {
  const facts = { ...idle, active: active(stop, true) }
  const queue = { ...start, onConflict: 'queue' } as const
  expect(decideAdmission({ ...facts, policy: 'always-off' }, queue)).toMatchObject({
    reason: 'not-for-run-policy',
  })
  expect(decideAdmission({ ...facts, policy: 'always-off' }, { ...queue, cause: 'policy' })).toMatchObject({
    state: 'queued',
  })
})

const variant = fc.constantFrom(...operationVariants)
const anyFacts = fc.record({
  seen: fc.record({
    power: fc.constantFrom('on' as const, 'off' as const, 'suspended' as const, 'unknown' as const),
    hibernated: fc.boolean(),
  }),
  policy: fc.constantFrom(...runPolicies),
  active: fc.option(
    fc
      .tuple(variant, fc.boolean(), fc.boolean())
      .map(([asked, acted, pastReturn]) => ({ ...asked, id: 'older', acted, pastReturn })),
  ),
  stillActive: fc.option(fc.tuple(variant, fc.boolean()).map(([asked, acted]) => ({ ...asked, acted }))),
  queued: fc.array(fc.uuid(), { maxLength: queueMost }),
  migrating: fc.option(fc.record({ entryId: fc.constant('e'), committed: fc.boolean() })),
  source: fc.option(fc.record({ entryId: fc.constant('s'), over: fc.boolean() })),
  startRefused: fc.option(
    fc.record({
      code: fc.constantFrom('migrated' as const, 'runs-elsewhere' as const),
      message: fc.constant('m'),
    }),
  ),
  hostUnknown: fc.boolean(),
})
const anyAsk = fc
  .tuple(variant, fc.constantFrom(...conflictRules))
  .map(([asked, onConflict]): AdmissionAsk => ({ ...asked, onConflict }))

test('a host that its target does not have is said first, and takes the place of nobody', () => {
  fc.assert(
    fc.property(anyFacts, anyAsk, (facts, asked) => {
      const answer = decideAdmission({ ...facts, hostUnknown: true }, asked)
      expect(answer).toEqual({ admitted: false, reason: 'host-unknown', blocker: null })
    }),
  )
})

test('the source of a migration is left alone while that has it, and is never started after', () => {
  fc.assert(
    fc.property(anyFacts, anyAsk, fc.boolean(), (any, asked, over) => {
      const facts = { ...any, hostUnknown: false }
      const answer = decideAdmission({ ...facts, migrating: null, source: { entryId: 's', over } }, asked)
      if (!over) expect(answer).toEqual({ admitted: false, reason: 'in-migration', blocker: 's' })
      else if (startingKinds.has(asked.kind))
        expect(answer).toEqual({ admitted: false, reason: 'migrated', blocker: 's' })
      else expect(answer).toEqual(decideAdmission({ ...facts, migrating: null, source: null }, asked))
    }),
  )
})

test('what would run a VM twice is refused whoever asks for it, with whatever force', () => {
  fc.assert(
    fc.property(anyFacts, anyAsk, (facts, asked) => {
      const startRefused = { code: 'runs-elsewhere', message: 'It runs elsewhere.' } as const
      expect(decideAdmission({ ...facts, startRefused }, asked).admitted).toBe(false)
    }),
  )
})

test('never two at one machine, never a supersede beside the matrix or for what does not apply', () => {
  fc.assert(
    fc.property(anyFacts, anyAsk, (facts, asked) => {
      const answer = decideAdmission(facts, asked)
      if (!answer.admitted) return
      if (answer.state === 'queued') {
        expect(asked.onConflict).toBe('queue')
        expect(answer.supersedes).toBeNull()
        expect(applicability[asked.kind].policies).toContain(facts.policy)
        return
      }
      if (facts.active === null) {
        expect(facts.queued).toEqual([])
        const phase = phaseOf(facts.seen, null)
        expect(isApplicable(asked, { policy: facts.policy, phase })).toBe('yes')
        return
      }
      expect(answer.supersedes).toBe('older')
      expect(asked.onConflict).toBe('supersede')
      expect(supersedes(asked, facts.active)).toBe(true)
      expect(facts.active.pastReturn).toBe(false)
      const phase = phaseAfterSupersede(facts.seen, facts.active)
      expect(isApplicable(asked, { policy: facts.policy, phase })).toBe('yes')
    }),
    { numRuns: 2_000 },
  )
})
