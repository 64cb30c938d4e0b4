import { expect, test } from 'vitest'
import { checkSecrets } from '../../../src/cli/commands/fleet/doctor.ts'

const items = Array.from({ length: 7 }, (_, at) => ({ name: `source s${at}`, remedy: `set s${at}` }))

test('the doctor names the first of what no key opens, counts the rest, and says how each is given again', () => {
  const [found] = checkSecrets({ total: 30, items })
  expect(found).toMatchObject({ check: 'secrets', verdict: 'fail' })
  expect(found?.text).toContain('source s0, source s1, source s2, source s3, source s4 and 25 more')
  expect(found?.remedy).toContain('set s0; set s1')
  expect(checkSecrets({ total: 0, items: [] })).toEqual([])
})
