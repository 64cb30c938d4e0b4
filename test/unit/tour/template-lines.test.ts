import { expect, test } from 'vitest'
import { templateEndLines } from '../../../src/tour/show-template.ts'

const version = (number: number, image: string, state: string) => ({
  ...{ number, image, state, swap_ms: 1_500, gap_ms: 40 },
})

test('a template is shown with what each kept image is kept for, and with a swap that did not come about', () => {
  const seen = { state: 'live', image_live: 'b', version_live: 4, version_wanted: 5 }
  const versions = [
    version(5, 'a', 'wanted'),
    version(4, 'b', 'live'),
    version(3, 'a', 'kept'),
    version(2, 'b', 'kept'),
    version(1, 'a', 'kept'),
  ]
  const lines = templateEndLines({ ...seen, message: 'The target is full.' }, versions)
  expect(lines[0]).toContain('points at b (version 4), swapped in 1.5 s')
  expect(lines.filter((line) => line.includes('full'))).toEqual(['  The target is full.'])
  expect(lines.filter((line) => line.includes('kept'))).toEqual(['  Version 3 (a) is kept for a rollback.'])
})
