import { expect, test } from 'vitest'
import { checkSecrets, downFinding } from '../../../src/cli/commands/fleet/doctor.ts'

const items = Array.from({ length: 7 }, (_, at) => ({ name: `source s${at}`, remedy: `set s${at}` }))

test('the doctor says who is off, and what brings each back', () => {
  expect(downFinding({ count: 0, message: '', entries: [] })).toMatchObject({ verdict: 'ok' })
  const message = '1 machine is off for its migration: web-1 (since then, no end is set).'
  const entries = [{ instance: 'web-1', because: 'Start its batch.' }]
  expect(downFinding({ count: 1, message, entries })).toEqual({
    ...{ check: 'off', verdict: 'warn' },
    ...{ text: message, remedy: 'web-1: Start its batch.' },
  })
})

test('the doctor names the first of what no key opens, counts the rest, and says how each is given again', () => {
  const [found] = checkSecrets({ total: 30, items })
  expect(found).toMatchObject({ check: 'secrets', verdict: 'fail' })
  expect(found?.text).toContain('source s0, source s1, source s2, source s3, source s4 and 25 more')
  expect(found?.remedy).toContain('set s0; set s1')
  expect(checkSecrets({ total: 0, items: [] })).toEqual([])
})
