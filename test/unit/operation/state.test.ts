import { expect, test } from 'vitest'
import { conditionsView } from '../../../src/domain/operation/conditions.ts'
import {
  hasEnded,
  isActive,
  operationEvents,
  operationStates,
  operationTable,
} from '../../../src/domain/operation/state.ts'

test('what has ended stays as it is, and everything else can be canceled, fail and run out of time', () => {
  for (const state of operationStates) {
    const out = operationTable[state]
    if (hasEnded(state)) expect(out).toEqual({})
    else expect(out).toMatchObject({ cancel: 'canceled', fail: 'failed', expire: 'failed' })
  }
})

test('only one that is at its machine is superseded, and only one that has begun completes', () => {
  for (const state of operationStates) {
    expect(operationTable[state].supersede !== undefined).toBe(isActive(state))
    expect(operationTable[state].complete !== undefined).toBe(state === 'running')
  }
})

test('every state is reached, and every event leads somewhere', () => {
  const reached = new Set(operationStates.flatMap((state) => Object.values(operationTable[state])))
  expect([...reached].sort()).toEqual(operationStates.filter((state) => state !== 'queued').sort())
  const used = new Set(operationStates.flatMap((state) => Object.keys(operationTable[state])))
  expect([...used].sort()).toEqual([...operationEvents].sort())
})

const at = (seconds: number) => new Date(1_800_000_000_000 + seconds * 1_000)
const seen = { reason: 'host-full', message: 'No host has room.', createdAt: at(0) }

test('tools that know conditions read a superseded operation as completed, and why', () => {
  const view = conditionsView({ ...seen, state: 'superseded', startedAt: at(1), finishedAt: at(2) })
  expect(view.phase).toBe('Completed')
  expect(view.conditions).toMatchObject([
    { type: 'Completed', status: 'True', reason: 'Superseded', last_transition_time: at(2).toISOString() },
    { type: 'SignalSent', status: 'True', reason: 'SignalSentSuccess' },
  ])
})

test('a failure before anything was asked of the platform says so', () => {
  const view = conditionsView({ ...seen, state: 'failed', startedAt: null, finishedAt: at(3) })
  expect(view.phase).toBe('Failed')
  expect(view.conditions).toMatchObject([
    { status: 'False', reason: 'HostFull', message: 'No host has room.' },
    { status: 'False', reason: 'SignalSentError' },
  ])
})
