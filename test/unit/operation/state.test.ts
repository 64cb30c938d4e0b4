import { expect, test } from 'vitest'
import {
  hasEnded,
  isActive,
  operationStates,
  operationTable,
} from '../../../src/domain/operation/kinds/state.ts'
import { transition } from '../../../src/domain/table/state-table.ts'

test('what has ended stays as it is, and everything else can be canceled, fail and run out of time', () => {
  for (const state of operationStates)
    expect(
      (['cancel', 'fail', 'expire'] as const).map((event) => transition(operationTable, state, event)?.to),
    ).toEqual(hasEnded(state) ? [undefined, undefined, undefined] : ['canceled', 'failed', 'failed'])
  expect(operationTable.moves.flatMap(({ from }) => from).filter(hasEnded)).toEqual([])
})

test('only an operation that is at its machine is superseded, and only one that has begun completes', () => {
  for (const state of operationStates) {
    expect(transition(operationTable, state, 'supersede') !== undefined).toBe(isActive(state))
    expect(transition(operationTable, state, 'complete') !== undefined).toBe(state === 'running')
  }
})
