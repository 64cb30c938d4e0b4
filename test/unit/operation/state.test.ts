import { expect, test } from 'vitest'
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
