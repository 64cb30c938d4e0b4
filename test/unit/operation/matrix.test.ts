import { expect, test } from 'vitest'
import {
  mayForce,
  operationKinds,
  operationVariants,
  variantText,
} from '../../../src/domain/operation/kinds/kinds.ts'
import { operationMatrix, supersedes } from '../../../src/domain/operation/kinds/matrix.ts'

/** The rows of the design, written out a second time: older, then who may take its place. */
const expected = [
  ['start', 'stop'],
  ['start', 'stop!'],
  ['stop', 'stop!'],
  ['stop', 'restart!'],
  ['restart', 'stop!'],
  ['restart', 'restart!'],
  ...['migrate', 'migrate!', 'evict', 'evict!'].flatMap((older) =>
    ['stop', 'stop!', 'restart', 'restart!'].map((newer) => [older, newer]),
  ),
]

test('the matrix has each of the 196 pairs once, and supersedes in 22 of them', () => {
  const pairs = operationMatrix.map(({ older, newer }) => `${variantText(older)} ${variantText(newer)}`)
  expect(pairs).toHaveLength(196)
  expect(new Set(pairs).size).toBe(196)
  const found = operationMatrix.filter(({ outcome }) => outcome === 'supersede')
  expect(found.map(({ older, newer }) => [variantText(older), variantText(newer)]).sort()).toEqual(
    [...expected].sort(),
  )
})

test('nothing takes the place of a forced power change, or of one that works on disks and memory', () => {
  for (const older of operationVariants)
    if (
      ['stop!', 'restart!', 'restore', 'clone', 'snapshot', 'hibernate', 'wake'].includes(variantText(older))
    )
      for (const newer of operationVariants) expect(supersedes(newer, older)).toBe(false)
})

test('force is said of what can be forced', () => {
  expect(operationKinds.filter(mayForce)).toEqual(['stop', 'restart', 'migrate', 'evict'])
  expect(operationVariants).toHaveLength(14)
})
