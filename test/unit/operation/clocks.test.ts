import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { decideTick, type TickFacts } from '../../../src/domain/operation/admission/decide-tick.ts'
import { type WaitingOperation, whyItWaits } from '../../../src/domain/operation/admission/why-it-waits.ts'
import type { Performance, PerformWait } from '../../../src/operation/perform/performer.ts'
import { retryUntilDeadline } from '../../../src/operation/perform/retry-until-deadline.ts'
import { PlatformError } from '../../../src/platforms/ports/platform-error.ts'

const running: TickFacts = {
  state: 'running',
  jobId: 'job-1',
  jobState: 'waiting',
  expired: false,
  started: true,
  waitsForSlot: false,
  overdueSeconds: null,
  reason: 'awaiting-slot',
  awaitsStillActive: false,
}

test('one that has begun is ended by its deadline while it is at work, and by its patience while it stands in line', () => {
  expect(decideTick({ ...running, expired: true })).toEqual({ do: 'rest' })
  expect(decideTick({ ...running, overdueSeconds: 3 })).toMatchObject({ reason: 'deadline-exceeded' })
  expect(decideTick({ ...running, waitsForSlot: true, overdueSeconds: 3 })).toEqual({ do: 'rest' })
  expect(decideTick({ ...running, waitsForSlot: true, expired: true })).toEqual({
    do: 'call-off',
    event: 'expire',
    reason: 'wait-expired',
  })
})

const at = (minute: number): Date => new Date(Date.UTC(2026, 0, 1, 0, minute))
const waiting: WaitingOperation = {
  shownReason: 'awaiting-slot',
  reason: 'admitted',
  reasonAt: at(0),
  message: 'Others hold it.',
  createdAt: at(0),
  startedAt: null,
  finishedAt: null,
  expiresAt: at(60),
  deadlineAt: null,
  inLineSince: null,
  position: null,
  blocker: null,
  older: [],
  jobState: 'waiting',
  jobError: null,
  jobWaitDetail: 'waits for target-moves/vc',
  jobWaitSince: at(1),
  jobRunAfter: null,
  pausedBy: null,
  pausedWhat: null,
  pausedAt: null,
}

test('until when a wait for a slot lasts at the latest is said by the clock that runs', () => {
  expect(whyItWaits(waiting)?.until).toEqual(at(60))
  const begun = { ...waiting, startedAt: at(5), deadlineAt: at(15) }
  expect(whyItWaits({ ...begun, inLineSince: at(6) })?.until).toEqual(at(60))
  expect(whyItWaits({ ...begun, shownReason: 'no-worker' })?.until).toEqual(at(15))
})

const hour = 3_600_000
/** A turn that has nothing new to tell. A worker's clock would say that its deadline passed long ago. */
const turnOf = (clock: { readonly leftMs: number; readonly ranMs: number }, wait: PerformWait) =>
  ({
    ctx: { signal: new AbortController().signal },
    operation: {
      ...clock,
      reason: wait.reason,
      message: wait.detail,
      progress: 0,
      startedAt: new Date(0),
      deadlineAt: new Date(hour),
      inLineSince: null,
    },
  }) as unknown as Performance

const busy: PerformWait = { type: 'wait', reason: 'target-busy', detail: 'Busy.', forMs: 5_000 }

test('how long a wait may last goes by what the database says is left, whatever the clock of a worker says', async () => {
  const forMs = async (leftMs: number) => {
    const outcome = await retryUntilDeadline([], async () => busy).perform(turnOf({ leftMs, ranMs: 0 }, busy))
    return outcome.type === 'wait' ? outcome.forMs : undefined
  }
  expect(await forMs(hour)).toBe(5_000)
  expect(await forMs(1_000)).toBe(1_200)
  expect(await forMs(-10_000)).toBe(200)
})

test('how long trouble has gone on is measured by the database, whatever the clock of a worker says', async () => {
  const error = new PlatformError({
    code: 'platform-no-capacity',
    failure: 'refused',
    message: 'No room.',
    remedy: '',
  })
  const full: PerformWait = {
    type: 'wait',
    reason: 'host-full',
    detail: 'No host or storage has room for it: No room.',
    forMs: 0,
  }
  const forMs = async (ranMs: number) => {
    const outcome = await retryUntilDeadline([], () => Promise.reject(error)).perform(
      turnOf({ leftMs: hour, ranMs }, full),
    )
    return outcome.type === 'wait' ? outcome.forMs : undefined
  }
  expect(await forMs(0)).toBe(1_000)
  expect(await forMs(20_000)).toBe(5_000)
  expect(await forMs(hour)).toBe(10_000)
})

test('no operation reads the clock of its worker', () => {
  const folder = join(import.meta.dirname, '../../../src/operation')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  )
  expect(files.length).toBeGreaterThan(20)
  const readers = files.filter((name) =>
    /systemClock|Date\.now|new Date\(/.test(readFileSync(join(folder, name), 'utf8')),
  )
  expect(readers).toEqual([])
})

test('a wait that is looked at again and again is one wait, and names what ends it', () => {
  const guest: WaitingOperation = {
    ...waiting,
    shownReason: 'waiting-for-guest',
    reason: 'waiting-for-guest',
    reasonAt: at(5),
    startedAt: at(4),
    deadlineAt: at(15),
    jobWaitSince: at(9),
  }
  const said = { since: at(5), until: at(15), endsWhen: expect.stringContaining('force') }
  expect(whyItWaits(guest)).toMatchObject(said)
  // Between two looks its job waits for a worker, and it still for the guest.
  expect(whyItWaits({ ...guest, jobState: 'ready', jobWaitSince: null })).toMatchObject(said)
  expect(whyItWaits(waiting)?.since).toEqual(at(1))
})
