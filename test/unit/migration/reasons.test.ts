import { expect, test } from 'vitest'
import { rules } from '../../../src/domain/inventory/rules/catalogue.ts'
import { entryStates } from '../../../src/domain/migration/entry/entry.ts'
import { explainReason, isKnownReason } from '../../../src/domain/migration/entry/reasons.ts'
import { codeFiles, readSource } from '../repository/sources.ts'

/** How a reason without an error behind it is written; an error has a class beside its code, and its own remedy. */
const written = [
  /\breason\(\s*'([a-z-]+)'/g,
  /\b(?:say|fail)\(\s*'([a-z-]+)'/g,
  /\bsetBack\(facts, '([a-z-]+)'/g,
  /\bcode: '([a-z-]+)'(?: as const)?,\s*(?:what\b[^\n]*?,\s*)?message\b/g,
  /\breason: '([a-z-]+)',\s*message\b/g,
]

/** Fields of windows are said alike; a failed check that force allows is named in the certificate alone. */
const others = new Set(['end', 'lockout', 'check-failed'])

const codes = [
  ...new Set(
    codeFiles
      .filter((file) => /^src\/(domain\/)?migration\//.test(file))
      .flatMap((file) => written.flatMap((form) => [...readSource(file).matchAll(form)]))
      .map(([, code]) => code ?? '')
      .filter((code) => !others.has(code)),
  ),
].sort()

// promise: wait-reason
test('every reason that the code can give has a remedy or needs none, and an end', () => {
  expect(codes.length).toBeGreaterThan(50)
  expect(codes).toEqual(expect.arrayContaining(['pool-full', 'window-later', 'placement-changed', 'fitted']))
  expect(codes.filter((code) => !isKnownReason(code))).toEqual([])
  for (const code of [...codes, ...rules.map(({ id }) => id)])
    for (const state of entryStates) {
      const { remedy, endsWhen } = explainReason({ code, state })
      expect(`${state} ${code}: ${endsWhen}`).toMatch(/[.]$/)
      if (state === 'conflict' || state === 'error') expect(`${state} ${code}: ${remedy}`).toMatch(/[.]$/)
    }
})

test('what blocks has something that a person can do about it', () => {
  const idle = new Set(['instance-busy'])
  for (const code of [
    'pool-full',
    'host-full',
    'name-taken',
    'source-not-connected',
    'instance-gone',
    'disabled',
  ])
    expect(explainReason({ code, state: 'blocked' }).remedy, code).not.toBe('')
  for (const code of idle) expect(explainReason({ code, state: 'blocked' }).remedy).toBe('')
})

test('in a conflict a person is told to decide, and an error brings its own remedy', () => {
  const conflict = explainReason({ code: 'pool-full', state: 'conflict' })
  expect(conflict.remedy).toContain('Then resolve the entry')
  expect(conflict.endsWhen).toBe('A person resolves or cancels it.')
  const error = { code: 'checks-failed', remedy: 'Mend it and resolve the entry.' }
  expect(explainReason({ code: 'checks-failed', state: 'conflict', error }).remedy).toBe(error.remedy)
  expect(explainReason({ code: 'pool-full', state: 'blocked', error }).remedy).toContain('Free room')
  expect(explainReason({ code: 'never-heard-of', state: 'idle' })).toEqual({
    remedy: 'Look at its last job and its events.',
    endsWhen: 'The next try goes well; it comes by itself.',
  })
})

test('no remedy of the migration names a verb that entries do not have', () => {
  const verbs = new Set(['cancel', 'retry', 'resolve', 'look at'])
  const named = codeFiles
    .filter((file) => /^src\/(domain\/)?migration\//.test(file))
    .flatMap((file) =>
      [...readSource(file).matchAll(/\b(\w+(?: at)?) the entry\b/g)]
        .map(([, verb = '']) => verb.toLowerCase())
        .filter((verb) => /^(re\w+|st\w+|un\w+|delete|cancel|clear|clean|wake|plan|place|copy)$/.test(verb))
        .filter((verb) => !verbs.has(verb))
        .map((verb) => `${file}: ${verb}`),
    )
  expect(named).toEqual([])
})

test('nobody is sent to waive what cannot be waived, or to allow what no batch can', () => {
  for (const { id, waivable, allowance } of rules.filter((rule) => !isKnownReason(rule.id))) {
    const { endsWhen } = explainReason({ code: id, state: 'blocked' })
    expect([id, endsWhen.includes('waives')]).toEqual([id, waivable])
    expect([id, endsWhen.includes('batch allows')]).toEqual([id, allowance !== undefined])
  }
})
