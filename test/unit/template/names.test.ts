import { expect, test } from 'vitest'
import {
  isReservedName,
  longestProductionName,
  ownedImage,
  ownerOfImage,
  shelfName,
  templateNames,
} from '../../../src/domain/template/names.ts'

const place = { folder: 'templates', production: 'rhel-9' }

test('the names beside a template follow from its folder and name alone, and have a fixed length', () => {
  expect(templateNames(place)).toEqual({
    production: 'rhel-9',
    temp: 'drv-tmp-8267a2551226',
    old: 'drv-old-8267a2551226',
  })
  const long = templateNames({ ...place, production: 'x'.repeat(longestProductionName) })
  expect(long.temp).toHaveLength(20)
  expect(shelfName({ imageId: 'a', folder: 'b' })).toHaveLength(20)
})

test('two places never share a name, however folder and name are split', () => {
  const names = [
    templateNames(place).temp,
    templateNames({ ...place, folder: 'other' }).temp,
    templateNames({ folder: 'a', production: 'bc' }).temp,
    templateNames({ folder: 'ab', production: 'c' }).temp,
    shelfName({ imageId: 'a', folder: 'bc' }),
    shelfName({ imageId: 'ab', folder: 'c' }),
  ]
  expect(new Set(names).size).toBe(names.length)
})

test('names of ours are reserved', () => {
  const { temp, old, production } = templateNames(place)
  expect([temp, old, shelfName({ imageId: 'a', folder: 'b' })].every(isReservedName)).toBe(true)
  expect(isReservedName(production)).toBe(false)
})

test('an object is ours by its tag: of this installation, and of an image', () => {
  const owner = ownerOfImage({ imageId: 'image-1', installation: 'here' })
  expect(ownedImage(owner, 'here')).toBe('image-1')
  expect(ownedImage(owner, 'elsewhere')).toBeUndefined()
  expect(ownedImage({}, 'here')).toBeUndefined()
})
