import { expect, test } from 'vitest'
import type { WorkerLine } from '../../db/queries/list-workers.ts'
import { batchesOf } from '../../src/console/batches.ts'
import { noticeText } from '../../src/console/notices.ts'
import { badge, duration, stackedBar } from '../../src/console/view.ts'
import { warningsOf } from '../../src/console/warnings.ts'

const at = (seconds: number) => new Date(1_000_000_000_000 + seconds * 1_000)

test('a batch knows its share, its rate over the last ten seconds, and what is left', () => {
  const rows = [
    { lane: 'batch/a', state: 'succeeded', jobs: 40, firstAt: at(0), lastAt: at(59), recent: 20 },
    { lane: 'batch/a', state: 'ready', jobs: 60, firstAt: at(0), lastAt: null, recent: 0 },
    { lane: 'batch/b', state: 'failed', jobs: 1, firstAt: at(0), lastAt: at(5), recent: 0 },
  ]
  const [first, second] = batchesOf(rows, at(60).getTime())
  expect(first).toMatchObject({
    lane: 'batch/a',
    jobs: 100,
    ended: 40,
    done: false,
    perSecond: 2,
    etaMs: 30_000,
  })
  expect(second).toMatchObject({ lane: 'batch/b', done: true, etaMs: undefined })
})

test('a batch that stands still promises no end', () => {
  const rows = [{ lane: 'batch/a', state: 'waiting', jobs: 5, firstAt: at(0), lastAt: null, recent: 0 }]
  expect(batchesOf(rows, at(60).getTime())[0]).toMatchObject({ perSecond: 0, etaMs: undefined })
})

test('times are said in their two largest units', () => {
  expect([0, 999, 61_000, 3_600_000, 7_500_000, 90_061_000].map(duration)).toEqual([
    ...['0 s', '1 s', '1 min 1 s', '1 h', '2 h 5 min', '1 d 1 h'],
  ])
})

test('what goes into a page is escaped, also in attributes', () => {
  expect(String(badge('"><script>'))).toBe(
    '<span class="badge is-&quot;&gt;&lt;script&gt;">&quot;&gt;&lt;script&gt;</span>',
  )
  expect(String(stackedBar('<b>', { succeeded: 1 }, 2))).toContain('aria-label="&lt;b&gt;"')
})

test('a notice is one of ours or nothing', () => {
  expect(noticeText('retried')).toBe('The job is ready to run again.')
  for (const code of [null, 'You have won', 'constructor', '__proto__'])
    expect(noticeText(code)).toBeUndefined()
})

const process = (facts: Partial<WorkerLine>): WorkerLine => ({
  id: 'id',
  role: 'worker',
  host: 'host',
  pid: 1,
  version: '1',
  kinds: {},
  slots: {},
  state: 'active',
  running: 0,
  startedAt: at(0),
  heartbeatAt: at(0),
  silentMs: 10,
  stoppedAt: null,
  ...facts,
})

const calm = {
  notReady: [],
  processes: [process({}), process({ role: 'conductor' })],
  leaseMs: 15_000,
  counts: [],
  pauses: [],
  debts: 0,
  webhooks: [],
}

test('a fleet where all is well has no warnings', () => {
  expect(warningsOf(calm)).toEqual([])
})

test.each([
  ['a bell store that is away', { notReady: ['The bell store (redis) cannot be reached.'] }, 'bell store'],
  ['no worker', { processes: [process({ role: 'conductor' })] }, 'No worker is alive'],
  [
    'a silent process',
    { processes: [process({}), process({ silentMs: 20_000 })] },
    '1 process has gone silent',
  ],
  ['two versions', { processes: [process({}), process({ version: '2' })] }, 'several versions: 1, 2'],
  ['debts', { debts: 2 }, '2 effects outside must still be undone'],
])('%s is a warning', (_what, facts, words) => {
  expect(
    warningsOf({ ...calm, ...facts })
      .map((warning) => warning.text)
      .join(),
  ).toContain(words)
})
