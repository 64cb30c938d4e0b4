import { expect, test } from 'vitest'
import { droverCommand } from '../../../src/tour/drover-command.ts'
import { type WaveEntry, type WaveSeen, waveBlock, waveEndLines } from '../../../src/tour/wave-lines.ts'

const MiB = 2 ** 20

const entry = (name: string, state: string, more: Partial<WaveEntry> = {}): WaveEntry => ({
  id: `id-of-${name}`,
  name,
  state,
  message: 'It no longer matches.',
  running: true,
  progress: { bytes_done: 6 * MiB, bytes_total: 12 * MiB, bytes_per_second: null },
  created_at: '2026-01-01T00:00:00.000Z',
  finished_at: state === 'finished' ? '2026-01-01T00:00:20.000Z' : null,
  ...more,
})

const wave = (entries: readonly WaveEntry[]): WaveSeen => ({
  name: 'lab-wave',
  state: 'running',
  entries,
  progress: { bytes_done: 30 * MiB, bytes_total: 2_048 * MiB, bytes_per_second: 5 * MiB },
})

test('each machine has a line of its own, with a bar while it moves and its end afterwards', () => {
  const seen = wave([
    entry('web-01', 'background-import'),
    entry('web-02', 'waiting', { progress: null }),
    entry('db-01', 'finished'),
    entry('test', 'finished', { running: false }),
    entry('wiki', 'conflict'),
  ])
  expect(waveBlock(seen, 9_400)).toEqual([
    '  web-01      [########········]  copied while it runs',
    '  web-02      [················]  waits for its place',
    '  db-01       finished in 20 s: proved, and runs',
    '  test        finished in 20 s: proved, and off as it was',
    '  wiki        waits for you: It no longer matches.',
    'Wave: 2 of 5 finished, 1 waits for you, 30 MiB of 2.0 GiB copied, 5.0 MiB/s, 9 s',
  ])
})

test('a conflict is left with the one command that decides about it', () => {
  const seen = wave([entry('db-01', 'finished'), entry('wiki', 'conflict')])
  const lines = waveEndLines(seen, { address: 'http://127.0.0.1:9', tookMs: 31_000 })
  expect(lines[0]).toBe('Wave lab-wave: 1 of 2 machines migrated in 31 s; each has a certificate')
  expect(lines).toContain('  wiki: It no longer matches.')
  expect(lines).toContain('    look     http://127.0.0.1:9/queue/id-of-wiki')
  expect(lines).toContain('    decide   npx drover queue resolve id-of-wiki')
})

test('when nothing waits, nothing is asked for', () => {
  const lines = waveEndLines(wave([entry('db-01', 'finished')]), { address: 'http://x', tookMs: undefined })
  expect(lines).toEqual([
    'Wave lab-wave: 1 of 1 machines migrated; each has a certificate',
    '  http://x/batches/lab-wave',
  ])
})

test('a command finds the token where the data is, also when that is elsewhere', () => {
  expect(droverCommand('')).toBe('npx drover')
  expect(droverCommand('/srv/drover')).toBe('DROVER_DATA_DIR=/srv/drover npx drover')
})

test('a wave that a person has reset is not told of as one that was migrated', () => {
  const lines = waveEndLines(wave([]), { address: 'http://x', tookMs: undefined })
  expect(lines).toEqual(['Wave lab-wave has no machines in its queue now', '  http://x/batches/lab-wave'])
})
