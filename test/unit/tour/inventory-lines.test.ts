import { expect, test } from 'vitest'
import { inventoryLines } from '../../../src/tour/inventory-lines.ts'
import type { SiteSeen } from '../../../src/tour/sites.ts'

const site = (name: string, counts: Record<string, number>): SiteSeen => ({
  name,
  kind: 'lab',
  endpoint: 'http://127.0.0.1:1/',
  connectivity: { state: 'ok', message: null, remedy: null, checked_at: null },
  identity: { product: 'Lab', version: '1.0' },
  sync: { synced_at: null },
  counts,
})

const seen = {
  sources: [site('paris', { instances: 3, hosts: 1, networks: 2, ignored: 1 })],
  targets: [site('lyon-2', { hosts: 7, networks: 1, storage: 2 })],
  assessment: {
    totals: { instances: 3, ready: 1, warning: 0, blocked: 2 },
    rules: ['a', 'b', 'c', 'd', 'e', 'f'].map((title, at) => ({ severity: 'critical', title, broken: at })),
  },
  hosts: Array.from({ length: 7 }, (_, at) => ({
    name: `node-${at}`,
    state: 'connected',
    cpus: 8,
    memory: 64 * 2 ** 30,
    memory_used: 2 ** 30,
  })),
  address: 'http://127.0.0.1:7070',
}

test('the inventory is shown in columns, the commonest reasons first, and no more than fits', () => {
  const lines = inventoryLines(seen)
  expect(lines.slice(0, 3)).toEqual([
    'Inventory',
    '  source  paris   Lab 1.0  3 machines on 1 host, 2 networks',
    '  target  lyon-2  Lab 1.0  7 hosts, 1 network, 2 storage pools',
  ])
  expect(lines).toContain(
    '3 machines to migrate: 1 ready, 0 with warnings, 2 blocked; 1 left out: templates and the like',
  )
  const reasons = lines.filter((line) => line.includes(' × '))
  expect(reasons.map((line) => line.replace(/^ +(blocked by)? +/, ''))).toEqual([
    '5 × f',
    '4 × e',
    '3 × d',
    '2 × c',
  ])
  expect(lines.some((line) => line.endsWith('and 1 other reason'))).toBe(true)
  expect(lines).toContain('  node-4  connected  8 CPUs  63 of 64 GiB memory free')
  expect(lines).toContain('  and 2 others')
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100)
})

test('the commands that come next find this Drover by its data, and name no port that another may have', () => {
  const lines = inventoryLines({ ...seen, address: 'http://127.0.0.1:9' })
  expect(lines.some((line) => line.includes('npx drover instances list'))).toBe(true)
  expect(lines.join('\n')).not.toContain('DROVER_URL')
})

test('where nothing was read there is nothing to say of machines', () => {
  const none = { instances: 0, ready: 0, warning: 0, blocked: 0 }
  const lines = inventoryLines({ ...seen, assessment: { totals: none, rules: [] }, hosts: [] })
  expect(lines.join('\n')).not.toMatch(/to migrate/)
})
