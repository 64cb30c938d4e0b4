import { expect, test } from 'vitest'
import { entryProgressOf } from '../../../src/console/pages/migration/entry-progress.ts'
import { reachablePlaces } from '../../../src/domain/migration/batch/describe-table.ts'

const drawn = (...place: Parameters<typeof entryProgressOf>): string => {
  const { steps, aside } = entryProgressOf(...place)
  return `${steps.map(({ is }) => is[0]).join('')}${aside ? ' aside' : ''}`
}

test('the journey is drawn as far as an entry has come', () => {
  expect(drawn({ state: 'waiting', stage: 'background' })).toBe('naaaaaaaaa')
  expect(drawn({ state: 'idle', stage: 'background' })).toBe('ddnaaaaaaa')
  expect(drawn({ state: 'background-import', stage: 'final' })).toBe('dddnaaaaaa')
  expect(drawn({ state: 'idle', stage: 'final' })).toBe('ddddnaaaaa')
  expect(drawn({ state: 'idle', stage: 'complete' })).toBe('ddddddnaaa')
  expect(drawn({ state: 'finished', stage: 'complete' })).toBe('dddddddddd')
})

test('who has left the way is drawn aside, with what its copy has reached', () => {
  expect(drawn({ state: 'blocked', stage: 'background' })).toBe('daaaaaaaaa aside')
  expect(drawn({ state: 'conflict', stage: 'complete' })).toBe('dddddddd'.concat('da aside'))
  expect(drawn({ state: 'error', stage: 'final' })).toBe('dddddaaaaa aside')
})

test('every place that an entry can come to can be drawn, at one step or aside', () => {
  const places = reachablePlaces()
  expect(places.length).toBeGreaterThan(15)
  for (const place of places) {
    const { steps, aside } = entryProgressOf(place)
    const here = steps.filter(({ is }) => is === 'now').length
    expect({ place, here, aside }).toEqual({
      place,
      here: aside || place.state === 'finished' ? 0 : 1,
      aside,
    })
  }
})
