import { expect, test } from 'vitest'
import { diffPlans, type PlanItem, PlanSums } from '../../../src/domain/migration/batch/plan-document.ts'

const item = (name: string, changes: Partial<PlanItem> = {}): PlanItem => ({
  instance_id: `id-${name}`,
  name,
  source: 'paris',
  standing: 'goes',
  state: null,
  reasons: [],
  placement: { target: 'oslo', project: 'default', host: '', pools: { a: 'x', b: 'y' }, networks: {} },
  bytes: 100,
  bytes_while_off: 30,
  tracked: true,
  tokens: ['target-creates/oslo', 'source-imports/paris'],
  window: 'night',
  window_note: '',
  copy_ms: { p50: 10, p90: 30 },
  downtime_ms: null,
  forecast_note: '',
  ...changes,
})

const totalsOf = (items: readonly PlanItem[], limit = 2) => {
  const sums = new PlanSums((token) => (token.startsWith('target-creates/') ? 1 : limit))
  for (const one of items) sums.add(one)
  return sums.totals()
}

test('sums count what goes, and copies run as many at once as the narrowest limit of a copy lets', () => {
  const blocked = item('b', { standing: 'blocked', reasons: [{ code: 'no', message: 'No.' }] })
  const totals = totalsOf([item('1'), item('2'), item('3'), blocked, item('c', { standing: 'conflict' })])
  expect(totals).toMatchObject({
    instances: 5,
    goes: 3,
    blocked: 1,
    conflict: 1,
    bytes: 300,
    bytes_while_off: 90,
  })
  expect(totals.tokens).toEqual({
    'target-creates/oslo': { needed: 3, limit: 1 },
    'source-imports/paris': { needed: 3, limit: 2 },
  })
  expect(totals.copy_ms).toEqual({ p50: 20, p90: 60 })
})

test('hosts that are read side by side give their room together', () => {
  const from = (...hosts: string[]) =>
    totalsOf(hosts.map((host, at) => item(`${at}`, { tokens: [`source-host-reads/paris.${host}`] }))).copy_ms
  expect(from('a', 'a', 'a', 'a')).toEqual({ p50: 20, p90: 60 })
  expect(from('a', 'a', 'b', 'b')).toEqual({ p50: 10, p90: 30 })
  const free = [item('1'), item('2', { tokens: ['batch/wave'] }), item('3'), item('4')]
  expect(totalsOf(free, 1).copy_ms).toEqual({ p50: 20, p90: 60 })
})

test('one copy without a history leaves the whole without a forecast, and is said', () => {
  const totals = totalsOf([item('1'), item('2', { copy_ms: null })])
  expect([totals.copy_ms, totals.forecast_note]).toEqual([null, 'no history yet of 1 of 2'])
})

test('who goes without a window is counted; a batch without windows has none such', () => {
  const none = item('1', { window: null, window_note: 'every window is over' })
  expect(totalsOf([none, item('2', { window: null })]).without_window).toBe(1)
})

test('a plan is compared by what is decided, not by the order of keys or by forecasts', () => {
  const same = item('1', {
    placement: { networks: {}, pools: { b: 'y', a: 'x' }, host: '', project: 'default', target: 'oslo' },
    copy_ms: null,
  })
  const unchanged = { since: 'plan', added: [], removed: [], changed: [], more: 0 }
  expect(diffPlans('plan', [item('1')], [same])).toEqual(unchanged)
  const moved = item('1', { standing: 'blocked', placement: null, bytes: 5 })
  expect(diffPlans('plan', [item('1'), item('2')], [moved, item('3')])).toEqual({
    since: 'plan',
    added: ['3'],
    removed: ['2'],
    changed: [{ instance: '1', what: ['standing', 'placement', 'bytes'] }],
    more: 0,
  })
})

test('of very many differences the first are listed and the others counted', () => {
  const many = Array.from({ length: 600 }, (_, at) => item(String(at)))
  const { added, more } = diffPlans('plan', [], many)
  expect([added.length, more]).toEqual([500, 100])
})
