import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { headsGiven } from '../../../src/sealing/heads-given.ts'
import { tempDir } from '../../support/temp.ts'

const hash = 'ab'.repeat(32)
const line = (seq: number) =>
  `drover-head-1:${seq}:${hash}:1700000000000:ed25519-${'0'.repeat(32)}:${'A'.repeat(86)}`

test('heads are lines, or every line of a file', async () => {
  const file = join(await tempDir('heads'), 'heads')
  await writeFile(file, `${line(3)}\n\n${line(9)}\n`)
  expect(headsGiven(['--head', file, '--head', `12:${hash}`])).toEqual([
    { seq: 3, hash },
    { seq: 9, hash },
    { seq: 12, hash },
  ])
  expect(headsGiven([])).toEqual([])
  expect(headsGiven(['--without-head'])).toBe('none')
})

test.each([
  [['--head'], 'nothing else'],
  [['--head', `1:${hash}`, '--without-head'], 'nothing else'],
  [['--heads', 'x'], 'nothing else'],
  [['--head', line(3).slice(0, 90)], 'no whole head'],
  [['--head', '/no/such/file'], 'cannot be read'],
])('%j is refused', (args, words) => {
  expect(() => headsGiven(args)).toThrow(words)
})

test('a file without a head, or with a line that is none, is refused', async () => {
  const file = join(await tempDir('heads'), 'heads')
  await writeFile(file, '\n')
  expect(() => headsGiven(['--head', file])).toThrow('There is no head')
  await writeFile(file, `${line(3)}\nsomething else\n`)
  expect(() => headsGiven(['--head', file])).toThrow('no whole head')
})
