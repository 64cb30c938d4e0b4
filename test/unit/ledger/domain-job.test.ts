import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type Budget,
  backoffMs,
  decideRetry,
  defaultRetryPolicy,
  type ErrorClass,
  errorClasses,
} from '../../../src/domain/job/retry.ts'
import { isTerminal, jobStates, jobTable } from '../../../src/domain/job/state.ts'
import { parseToken, tokenClasses, tokenLimit } from '../../../src/domain/job/token.ts'

const dice = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
const failures = fc.integer({ min: 1, max: 1_000 })

describe('backoff', () => {
  test('waits at least half a step and at most the cap', () => {
    fc.assert(
      fc.property(failures, fc.integer({ min: 1, max: 10_000 }), dice, (count, baseMs, random) => {
        const capMs = 300_000
        const step = Math.min(capMs, baseMs * 2 ** Math.min(count - 1, 30))
        const ms = backoffMs(count, baseMs, capMs, random)
        expect(ms).toBeGreaterThanOrEqual(Math.floor(step / 2))
        expect(ms).toBeLessThanOrEqual(step)
        expect(Number.isSafeInteger(ms)).toBe(true)
      }),
    )
  })

  test('never gets shorter with one more failure and the same dice', () => {
    fc.assert(
      fc.property(failures, dice, (count, random) => {
        expect(backoffMs(count + 1, 1_000, 300_000, random)).toBeGreaterThanOrEqual(
          backoffMs(count, 1_000, 300_000, random),
        )
      }),
    )
  })

  test('starts with half of the base and doubles until the cap', () => {
    expect([1, 2, 3, 4, 5].map((count) => backoffMs(count, 1_000, 6_000, 0))).toEqual([
      500, 1_000, 2_000, 3_000, 3_000,
    ])
  })
})

const budgets = fc.record({ attempt: fc.nat(200), environmentAttempt: fc.nat(200) })
const classes = fc.constantFrom(...errorClasses)

/** How often a job that always fails the same way is run in all. */
const runsOf = (errorClass: ErrorClass): number => {
  let budget: Budget = { attempt: 0, environmentAttempt: 0 }
  for (let runs = 1; runs <= 1_000; runs += 1) {
    const decision = decideRetry(errorClass, budget, defaultRetryPolicy, 0.5)
    if (!decision.retry) return runs
    budget = { ...budget, [decision.charge]: budget[decision.charge] + 1 }
  }
  return Number.POSITIVE_INFINITY
}

describe('the decision to retry', () => {
  test.each([
    ['transient', defaultRetryPolicy.transientMax],
    ['environment', defaultRetryPolicy.environmentMax],
    ['bug', defaultRetryPolicy.bugMax],
    ['conflict', 1],
    ['config', 1],
    ['permanent', 1],
  ] as const)('a job that always fails with %s is run %i times', (errorClass, runs) => {
    expect(runsOf(errorClass)).toBe(runs)
  })

  test('only time and the platform are waited for; what a person must end is never tried again', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('conflict', 'config', 'permanent'),
        budgets,
        dice,
        (errorClass, budget, random) => {
          expect(decideRetry(errorClass, budget, defaultRetryPolicy, random)).toEqual({
            retry: false,
            charge: 'none',
          })
        },
      ),
    )
  })

  // promise: platform-down
  test('a platform that is down for eleven hours leaves its jobs a try, whatever the dice', () => {
    fc.assert(
      fc.property(fc.array(dice, { minLength: 20 }), (rolled) => {
        let [waitedMs, environmentAttempt] = [0, 0]
        for (;;) {
          const random = rolled[environmentAttempt % rolled.length] ?? 0
          const decision = decideRetry(
            'environment',
            { attempt: 0, environmentAttempt },
            defaultRetryPolicy,
            random,
          )
          if (!decision.retry) break
          waitedMs += decision.delayMs
          environmentAttempt += 1
        }
        expect(waitedMs).toBeGreaterThan(11 * 3_600_000)
      }),
    )
  })

  // promise: platform-down
  test('a platform that is down never uses up the attempts, and a transient error never the patience', () => {
    fc.assert(
      fc.property(classes, budgets, dice, (errorClass, budget, random) => {
        const { charge } = decideRetry(errorClass, budget, defaultRetryPolicy, random)
        if (errorClass === 'environment') expect(charge).toBe('environmentAttempt')
        else expect(charge).not.toBe('environmentAttempt')
        const other = { attempt: budget.attempt, environmentAttempt: 199 }
        if (errorClass === 'transient')
          expect(decideRetry(errorClass, other, defaultRetryPolicy, random)).toEqual(
            decideRetry(errorClass, budget, defaultRetryPolicy, random),
          )
      }),
    )
  })

  test('a retry always waits for some time and not longer than its cap', () => {
    fc.assert(
      fc.property(classes, budgets, dice, (errorClass, budget, random) => {
        const decision = decideRetry(errorClass, budget, defaultRetryPolicy, random)
        if (!decision.retry) return
        const { capMs, environmentCapMs } = defaultRetryPolicy
        expect(decision.delayMs).toBeGreaterThan(0)
        expect(decision.delayMs).toBeLessThanOrEqual(errorClass === 'environment' ? environmentCapMs : capMs)
      }),
    )
  })
})

describe('the transition table', () => {
  const edges = jobTable.moves.flatMap(({ from, event, to }) =>
    from.map((state) => ({ from: state, event, to })),
  )

  test('every state that is not terminal has a way to each terminal state', () => {
    for (const start of jobStates.filter((state) => !isTerminal(state))) {
      const reached = new Set<string>([start])
      for (const _round of jobStates) for (const { from, to } of edges) if (reached.has(from)) reached.add(to)
      expect([...reached]).toEqual(expect.arrayContaining([...jobTable.terminal]))
    }
  })

  // promise: job-transitions
  test('what has succeeded never changes again', () => {
    expect(edges.filter(({ from }) => from === 'succeeded')).toEqual([])
  })

  test('the only way out of a terminal state is a redrive, to ready', () => {
    const out = edges.filter(({ from }) => isTerminal(from))
    expect(out).toEqual([
      { from: 'failed', event: 'redrive', to: 'ready' },
      { from: 'canceled', event: 'redrive', to: 'ready' },
    ])
  })

  test('a job runs only by a claim, and only a running job succeeds', () => {
    expect([
      ...new Set(edges.filter((e) => e.to === 'running' && e.from !== 'running').map((e) => e.event)),
    ]).toEqual(['claim'])
    expect(edges.filter(({ to }) => to === 'succeeded')).toEqual([
      { from: 'running', event: 'succeed', to: 'succeeded' },
    ])
  })
})

const known = fc.constantFrom(...Object.keys(tokenClasses))
const thing = fc.string({ unit: fc.constantFrom(...'abcXYZ019.-_:@~!'), minLength: 1, maxLength: 128 })

describe('tokens', () => {
  test('a token of a known class is taken apart and nothing is lost', () => {
    fc.assert(
      fc.property(known, thing, (name, of) => {
        expect(parseToken(`${name}/${of}`)).toEqual({ class: name, thing: of })
      }),
    )
  })

  test.each([
    '',
    'batch',
    'batch/',
    '/a',
    'unknown/a',
    'batch/a b',
    'batch/a/b',
    'Batch/a',
    `batch/${'a'.repeat(129)}`,
  ])('"%s" is no token', (text) => {
    expect(parseToken(text)).toBeUndefined()
  })

  test('names that every object has are no token classes', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('constructor', 'to-string', 'valueof', 'has-own-property'),
        thing,
        (name, of) => {
          expect(parseToken(`${name}/${of}`)).toBeUndefined()
        },
      ),
    )
  })

  test('the limit of the thing wins over that of its class, which wins over the default', () => {
    const name = 'target-creates/esx-1'
    expect(tokenLimit(name, new Map())).toBe(4)
    expect(tokenLimit(name, new Map([['target-creates', 7]]))).toBe(7)
    expect(
      tokenLimit(
        name,
        new Map([
          ['target-creates', 7],
          [name, 0],
        ]),
      ),
    ).toBe(0)
  })

  test('a limit of something that is no token is refused, not guessed', () => {
    expect(() => tokenLimit('nonsense', new Map())).toThrow(/not a token name/)
  })
})
