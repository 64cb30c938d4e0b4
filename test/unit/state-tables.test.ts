import { expect, test } from 'vitest'
import { jobTable } from '../../src/domain/job/state.ts'
import { batchTable } from '../../src/domain/migration/batch/batch-table.ts'
import { entryTable } from '../../src/domain/migration/entry/entry-table.ts'
import { operationTable } from '../../src/domain/operation/kinds/state.ts'
import {
  defineTable,
  requireStart,
  requireTransition,
  sweepOf,
  transition,
} from '../../src/domain/table/state-table.ts'
import { checkTable } from '../support/state-table-model.ts'
import { tablePages } from '../support/table-pages.ts'
import { readSource } from './repository/sources.ts'

checkTable(jobTable)
checkTable(batchTable)
checkTable(entryTable)
checkTable(operationTable)

test.each(Object.entries(tablePages))(
  'docs/%s shows the tables as they are: npm run docs:tables',
  (name, fill) => {
    const page = readSource(`docs/${name}`)
    expect(fill(page) === page).toBe(true)
  },
)

const lamp = {
  subject: 'lamp',
  states: {
    off: { says: 'Dark.', starts: true },
    on: { says: 'Light.' },
    broken: { says: 'Gone.', terminal: true },
  },
  events: ['press', 'break'],
} as const
const press = {
  event: 'press',
  from: ['off'],
  to: 'on',
  cause: 'person',
  says: 'Somebody wants light.',
} as const
const release = { ...press, from: ['on'], to: 'off' } as const
const crack = {
  event: 'break',
  from: ['off', 'on'],
  to: 'broken',
  cause: 'worker',
  says: 'It fell.',
} as const
const table = defineTable({ ...lamp, moves: [press, release, crack] })

test('what a table does not have is refused, and asking for it is a mistake', () => {
  expect(transition(table, 'off', 'press')?.to).toBe('on')
  expect(transition(table, 'broken', 'press')).toBeUndefined()
  expect(() => requireTransition(table, 'broken', 'press')).toThrow('No lamp that is broken can press.')
  expect(() => requireStart(table, 'on')).toThrow('No lamp begins as on.')
  expect(requireStart(table, 'off')).toBe('off')
})

test('a statement for many rows is told where an event finds them, unless it leads to several states', () => {
  expect(sweepOf(table, 'break')).toEqual({ from: ['off', 'on'], to: 'broken' })
  expect(sweepOf(table, 'break', 'on')).toEqual({ from: ['on'], to: 'broken' })
  expect(() => sweepOf(table, 'press')).toThrow('No lamp can press.')
  expect(() => sweepOf(table, 'press', 'broken')).toThrow('No lamp that is broken can press.')
})

test('a table with two moves for one event at one place is none, nor is one with words that are no words', () => {
  expect(() => defineTable({ ...lamp, moves: [press, press] })).toThrow('leads to two places')
  const states = { "off'": { says: 'Dark.' } }
  expect(() => defineTable({ ...lamp, states, moves: [] })).toThrow('odd word')
})

test('a state or an event that the table does not have does not compile', () => {
  // @ts-expect-error: there is no such state.
  const to = () => defineTable({ ...lamp, moves: [{ ...press, to: 'blue' }] })
  // @ts-expect-error: there is no such event.
  const event = () => transition(table, 'off', 'throw')
  // @ts-expect-error: there is no such state.
  const from = () => transition(table, 'blue', 'press')
  expect([to, event, from].map((made) => typeof made)).toEqual(['function', 'function', 'function'])
})
