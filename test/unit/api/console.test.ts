import { expect, test } from 'vitest'
import type { WorkerLine } from '../../../db/queries/fleet/list-workers.ts'
import { lanesAsBatches } from '../../../src/api/screens/lane-batches.ts'
import { noticeText } from '../../../src/console/kit/notices.ts'
import { outside, visible } from '../../../src/console/kit/shown.ts'
import { badge, duration, stackedBar, tabs } from '../../../src/console/kit/view.ts'
import { warningsOf } from '../../../src/console/kit/warnings.ts'
import { bulkAddress, bulkOffers } from '../../../src/console/pages/migration/bulk-choice.ts'
import { bytes } from '../../../src/domain/text/bytes.ts'

const at = (seconds: number) => new Date(1_000_000_000_000 + seconds * 1_000)

test('a batch knows its share, its rate over the last ten seconds, and what is left', () => {
  const rows = [
    { lane: 'batch/a', state: 'succeeded', jobs: 40, firstAt: at(0), lastAt: at(59), recent: 20 },
    { lane: 'batch/a', state: 'ready', jobs: 60, firstAt: at(0), lastAt: null, recent: 0 },
    { lane: 'batch/b', state: 'failed', jobs: 1, firstAt: at(0), lastAt: at(5), recent: 0 },
  ]
  const [first, second] = lanesAsBatches(rows, at(60).getTime())
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
  expect(lanesAsBatches(rows, at(60).getTime())[0]).toMatchObject({ perSecond: 0, etaMs: undefined })
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
  sites: [],
  unread: 0,
  needy: { conflict: 0, error: 0 },
  runningTwice: 0,
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
  [
    'a VM that runs twice',
    { runningTwice: 1 },
    '1 VM runs twice, or with the MAC address of another: see which, and stop the one that is not meant, at once.',
  ],
  ['a conflict', { needy: { conflict: 1, error: 0 } }, '1 machine waits for you to decide a conflict.'],
  ['an error', { needy: { conflict: 0, error: 2 } }, 'The migration of 2 machines ended in an error.'],
])('%s is a warning', (_what, facts, words) => {
  expect(
    warningsOf({ ...calm, ...facts })
      .map((warning) => warning.text)
      .join(),
  ).toContain(words)
})

test('two running copies are said first, as an alarm', () => {
  const [first, ...rest] = warningsOf({ ...calm, runningTwice: 1, notReady: ['It is not.'], debts: 1 })
  expect(first).toMatchObject({ id: 'running-twice', alarm: true })
  expect(rest.some(({ alarm }) => alarm)).toBe(false)
})

const paused = {
  scope: 'lane',
  ...{ name: 'batch/wave-1', reason: 'The batch was stopped.', pausedBy: 'ann' },
  ...{ pausedAt: at(0), running: 1, ofStopped: false },
} as const

test('a pause is told with its reason, and can be resumed there', () => {
  const [lane] = warningsOf({ ...calm, pauses: [paused] })
  expect(lane?.text).toBe(
    'The lane batch/wave-1 is paused by ann: The batch was stopped. 1 of its jobs still runs.',
  )
  expect(lane?.pause).toBe(paused)
  const [kind] = warningsOf({ ...calm, pauses: [{ ...paused, reason: 'upgrade', running: 2 }] })
  expect(kind?.text).toMatch(/: upgrade\. 2 of its jobs still run\.$/)
})

test('what the stop of a batch has paused is never resumed apart from it: the batch is shown instead', () => {
  const [warning] = warningsOf({ ...calm, pauses: [{ ...paused, ofStopped: true }] })
  expect(warning).toEqual({
    id: 'pause-lane-batch/wave-1',
    text: 'The batch wave-1 was stopped by ann. 1 of its jobs still runs.',
    href: '/batches/wave-1',
    linkText: 'Look at it',
  })
})

test('a site that is away warns in words, and only of the cause', () => {
  const known = { connectivitySince: new Date('2026-11-19T12:03:00Z'), connectivityError: null }
  const site = { role: 'source', name: 'paris', connectivity: 'ok', syncError: null, ...known }
  const away = { ...site, connectivity: 'authentication-error', syncError: { message: 'no session' } }
  const unreadable = { ...site, role: 'target', syncError: { message: 'it sent\u202e nonsense' } }
  expect(warningsOf({ ...calm, sites: [site, { ...site, connectivity: 'unknown' }] })).toEqual([])
  const texts = warningsOf({ ...calm, sites: [away, unreadable], unread: 1 }).map(({ text, href }) => [
    text,
    href,
  ])
  expect(texts).toEqual([
    [
      expect.stringMatching(
        /^The source paris is not connected \(authentication-error\), since 2026-11-19 12:03 UTC: It answers and does not let us in/,
      ),
      '/sources/paris',
    ],
    ['The target paris could not be read: it sent⟨202E⟩ nonsense', '/targets/paris'],
    ['1 warning about the inventory that nobody has read.', '/warnings'],
  ])
})

// promise: wait-names-platform
test('a platform that does not answer is named with since when, and with who is off because of it', () => {
  const away = {
    ...{ role: 'target', name: 'oslo', connectivity: 'cannot-connect', syncError: null },
    connectivitySince: new Date('2026-11-19T12:03:00Z'),
    connectivityError: {
      code: 'platform-unreachable',
      message: '10.0.0.1:443 cannot be reached (ECONNREFUSED).',
    },
    down: { count: 1, message: '1 machine is off for its migration: web-1 (since then).' },
  }
  expect(warningsOf({ ...calm, sites: [away] }).map(({ text }) => text)).toEqual([
    'The target oslo does not answer, since 2026-11-19 12:03 UTC: 10.0.0.1:443 cannot be reached (ECONNREFUSED). ' +
      '1 machine is off for its migration: web-1 (since then).',
  ])
})

test('what cannot be seen in a name is shown by its number, and nothing else is touched', () => {
  expect(visible('Grüße ☂ שלום 日本')).toBe('Grüße ☂ שלום 日本')
  expect(visible('abc\u202Etxt.exe\u0000\u200B\n')).toBe('abc⟨202E⟩txt.exe⟨0⟩⟨200B⟩⟨A⟩')
  expect(String(outside('<b>"'))).toBe('<bdi>&lt;b&gt;&quot;</bdi>')
})

test('sizes are said as people say them', () => {
  expect([0, 512, 1_536, 2 ** 30, 1.5 * 2 ** 40, 20 * 2 ** 40].map(bytes)).toEqual([
    ...['0 B', '512 B', '1.5 KiB', '1 GiB', '1.5 TiB', '20 TiB'],
  ])
})

test('a notice with a number says that number, and nothing else from the address', () => {
  expect(noticeText('batch-half-removed', '120')).toMatch(/^120 of its entries are left/)
  for (const count of [null, '', '-1', '<b>', '1e9', '12345678901'])
    expect(noticeText('batch-half-removed', count)).toBeUndefined()
  expect(noticeText('saved', '120')).toBe('Saved.')
})

test('what is offered for many entries is what the table allows for one', () => {
  const offers = (choice: Parameters<typeof bulkOffers>[0]) =>
    bulkOffers(choice).map(({ verb, choice: meant }) => bulkAddress(verb, meant))
  expect(offers({})).toEqual(['/queue/all/resolve?state=conflict', '/queue/all/retry?state=error'])
  expect(offers({ batch: 'wave-1' })).toEqual([
    '/queue/all/resolve?batch=wave-1&state=conflict',
    '/queue/all/retry?batch=wave-1&state=error',
    '/queue/all/cancel?batch=wave-1',
  ])
  const verbsIn = (state: string) => bulkOffers({ state }).map(({ verb }) => verb)
  expect(Object.fromEntries(['conflict', 'error', 'idle', 'finished'].map((s) => [s, verbsIn(s)]))).toEqual({
    conflict: ['resolve', 'cancel'],
    error: expect.arrayContaining(['retry']),
    idle: ['cancel'],
    finished: [],
  })
})

test('a tab keeps what else was asked for, but not the place in the list', () => {
  const query = new URLSearchParams('standing=blocked&source=paris&cursor=abc')
  const choices = [
    ['', 'all'],
    ['blocked', 'blocked'],
  ] as const
  const drawn = String(tabs({ label: 'Which', path: '/x', query, name: 'standing', choices }))
  expect(drawn).toContain('href="/x?source=paris">all')
  expect(drawn).toContain('href="/x?standing=blocked&amp;source=paris" aria-current="true">blocked')
})
