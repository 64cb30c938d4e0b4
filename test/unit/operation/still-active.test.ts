import { expect, test } from 'vitest'
import { decideTick, type TickFacts } from '../../../src/domain/operation/admission/decide-tick.ts'
import {
  decideStillActiveWait,
  type StillActiveOperation,
} from '../../../src/domain/operation/kinds/still-active.ts'

const older: StillActiveOperation = {
  ...{ id: 'op-1', kind: 'stop', force: true, state: 'superseded', endedSeconds: 5, jobState: 'running' },
  ...{ debts: 0, tries: 0, lastError: null },
}

test('a newer one waits for an older one, says what that is at, and looks again when people are to hear of it', () => {
  expect(decideStillActiveWait([older], 120)).toEqual({
    reason: 'awaiting-older',
    message: 'stop! op-1 (superseded) is still active: its job is running.',
    forMs: 30_000,
  })
  expect(decideStillActiveWait([{ ...older, endedSeconds: 119 }], 120)).toMatchObject({
    reason: 'awaiting-older',
    forMs: 1_000,
  })
  expect(decideStillActiveWait([older, { ...older, endedSeconds: 120 }], 120).reason).toBe('older-keeps-on')
})

test('what could not be undone is counted with its tries and its last error', () => {
  const owing: StillActiveOperation = {
    ...older,
    jobState: 'canceled',
    debts: 2,
    tries: 3,
    lastError: 'No answer.',
  }
  expect(decideStillActiveWait([owing], 120).message).toBe(
    'stop! op-1 (superseded) is still active: 2 of its effects are still to be undone, tried 3 times. The last error: No answer.',
  )
})

const pending: TickFacts = {
  ...{ state: 'pending', jobId: 'job-1', jobState: 'waiting', expired: true, started: false },
  ...{ waitsForSlot: false, overdueSeconds: null, reason: 'in-progress', awaitsStillActive: false },
}

test('who waited in vain says for what: for its turn, or for one that did not let go', () => {
  expect(decideTick(pending)).toMatchObject({ do: 'call-off', reason: 'wait-expired' })
  expect(decideTick({ ...pending, awaitsStillActive: true })).toMatchObject({ reason: 'older-keeps-on' })
})

test('what is overdue is ended from outside, after its own job could have done it', () => {
  const running: TickFacts = { ...pending, state: 'running', expired: false, started: true }
  expect(decideTick({ ...running, overdueSeconds: 2 })).toEqual({ do: 'rest' })
  expect(decideTick({ ...running, overdueSeconds: 3 })).toMatchObject({
    do: 'call-off',
    reason: 'deadline-exceeded',
  })
  expect(decideTick({ ...running, overdueSeconds: 3, reason: 'waiting-for-guest' })).toMatchObject({
    reason: 'guest-keeps-running',
  })
  const acting: TickFacts = { ...running, jobState: 'running' }
  expect(decideTick({ ...acting, overdueSeconds: 59 })).toEqual({ do: 'rest' })
  expect(decideTick({ ...acting, overdueSeconds: 60 })).toMatchObject({ reason: 'deadline-exceeded' })
})
