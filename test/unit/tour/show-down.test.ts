import { expect, test } from 'vitest'
import { startDownLines } from '../../../src/tour/show-down.ts'

test('a start says who is off, since when and what brings each back, and nothing where nobody is', () => {
  expect(startDownLines({ count: 0, head: '', entries: [] })).toEqual([])
  const times = 'since 2026-11-19 12:00 UTC, no end is set'
  const web = { instance: 'web-1\u001b[2J', times, because: 'Its batch is stopped.' }
  const lines = startDownLines({ count: 3, head: '3 machines are off for their migration', entries: [web] })
  expect(lines).toEqual([
    '3 machines are off for their migration:',
    expect.stringMatching(
      /^ {2}web-1.*: since 2026-11-19 12:00 UTC, no end is set\. Its batch is stopped\.$/,
    ),
    '  and 2 more: drover down',
    '',
  ])
  expect(lines.join('')).not.toContain('\u001b')
})
