import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  digestTags,
  type Tags,
  tagsMayDiffer,
} from '../../../src/platforms/vsphere/inventory/instance-tags.ts'
import { packCursor, unpackCursor } from '../../../src/platforms/vsphere/inventory/inventory-cursor.ts'
import { normalScopes } from '../../../src/platforms/vsphere/inventory/inventory-scopes.ts'
import { InventoryTree } from '../../../src/platforms/vsphere/inventory/inventory-tree.ts'
import { imaginedTree } from './imagined-tree.ts'

const cursor = {
  instance: 'i',
  cookie: 'vmware_soap_session="x"',
  collector: 'pc-1',
  version: '17',
  turn: 'filter-3',
  machines: ['session[1]view-1'],
  around: ['session[1]view-2'],
  scopes: '',
  attributes: 'a',
  tags: Buffer.alloc(2_048, 1).toString('base64'),
}

test('a cursor goes out and comes back', () => {
  expect(unpackCursor(packCursor(cursor) ?? '')).toMatchObject(cursor)
})

test('a cursor that would be too long is none', () => {
  expect(
    packCursor({ ...cursor, machines: Array.from({ length: 400 }, () => 'session[1]view-123') }),
  ).toBeNull()
})

test.each(['', 'x', '{}', 'null', '{"format":1}', JSON.stringify({ ...cursor, format: 2 })])(
  'what is no cursor of ours is a lost one: %s',
  (text) => {
    expect(() => unpackCursor(text)).toThrow(expect.objectContaining({ code: 'platform-cursor-lost' }))
  },
)

const tagSets = fc
  .array(
    fc.tuple(
      fc.integer({ min: 1, max: 500 }).map((id) => `vm-${id}`),
      fc.dictionary(fc.constantFrom('tier', 'owner'), fc.uniqueArray(fc.constantFrom('a', 'b', 'c')), {
        maxKeys: 2,
      }),
    ),
    { maxLength: 40 },
  )
  .map((entries): Tags => new Map(entries))

test('whoever has other tags now is told, in whatever order they are read', () => {
  fc.assert(
    fc.property(tagSets, tagSets, (earlier, now) => {
      const mayDiffer = tagsMayDiffer(digestTags(earlier), digestTags(now))
      for (const ref of new Set([...earlier.keys(), ...now.keys()])) {
        const isSame = JSON.stringify(earlier.get(ref)) === JSON.stringify(now.get(ref))
        if (!isSame && sorted(earlier.get(ref)) !== sorted(now.get(ref)))
          expect(mayDiffer?.(ref), ref).toBe(true)
      }
      expect(tagsMayDiffer(digestTags(earlier), digestTags(new Map([...earlier].reverse())))).toBeUndefined()
    }),
    { numRuns: 300 },
  )
})

const sorted = (tags: Readonly<Record<string, readonly string[]>> | undefined): string =>
  tags === undefined ? '' : JSON.stringify(Object.entries(tags).sort())

test('one change of tags sets few machines under suspicion', () => {
  const many = new Map(Array.from({ length: 10_000 }, (_, at) => [`vm-${at}`, { tier: ['gold'] }]))
  const changed = new Map([...many, ['vm-77', { tier: ['silver'] }]])
  const mayDiffer = tagsMayDiffer(digestTags(many), digestTags(changed))
  const suspects = [...many.keys()].filter((ref) => mayDiffer?.(ref))
  expect(suspects).toContain('vm-77')
  expect(suspects.length).toBeLessThan(60)
})

test('the same places are the same in whatever form they are given', () => {
  expect(normalScopes(['/Paris/vm/shop/...', 'Rome/', '/Rome'])).toEqual(['Paris/vm/shop', 'Rome'])
  expect(normalScopes(['/...'])).toEqual([])
  expect(normalScopes(['/Paris', '...'])).toEqual([])
  expect(normalScopes([])).toEqual([])
})

test('a place is told by its path', () => {
  const tree = imaginedTree()
  expect(tree.path('group-v10')).toBe('/Paris/vm/shop%2fweb')
  expect(tree.name('group-v10')).toBe('shop/web')
  expect(tree.path('group-d1')).toBe('')
  expect(tree.path('unknown')).toBe('')
  expect(tree.nearest('host-9', 'Datacenter')?.ref.value).toBe('datacenter-2')
  expect(tree.nearest('host-9', 'VirtualApp')).toBeUndefined()
})

test('places that lie in each other end somewhere', () => {
  const node = (value: string, parent: string) => ({ ref: { type: 'Folder', value }, rawName: value, parent })
  const nodes = new Map([
    ['a', node('a', 'b')],
    ['b', node('b', 'a')],
  ])
  const tree = new InventoryTree(nodes, { networks: new Map(), switches: new Map() })
  expect(tree.path('a')).toMatch(/\/a$/)
  expect(tree.nearest('a', 'Datacenter')).toBeUndefined()
})
