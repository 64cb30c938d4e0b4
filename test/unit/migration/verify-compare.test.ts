import { describe, expect, test } from 'vitest'
import type { InstanceFacts } from '../../../src/domain/inventory/facts.ts'
import type { Placement } from '../../../src/domain/migration/place/placement.ts'
import { type CompareAsk, compareFinal } from '../../../src/domain/migration/verify/verify-compare.ts'
import { effective, sampleDisk, sampleNic } from '../inventory/samples.ts'

const placement: Placement = {
  target: 'cloud',
  project: 'default',
  host: 'node-1',
  pools: { 2000: 'local' },
  networks: { '00:50:56:aa:00:01': { network: 'shop', nictype: 'managed', vlan_id: '' } },
}
const committed = { facts: effective(), placement }
const moved = (changes: Partial<Placement>): Partial<CompareAsk> => ({
  placement: { ...placement, ...changes },
})
const compare = (changes: Partial<CompareAsk> = {}, facts: Partial<InstanceFacts> = {}) =>
  compareFinal({ committed, now: effective(facts), placement, problems: [], force: false, ...changes })
const trouble = { code: 'network-absent', message: 'The target has no such network.' }

test('what did not change is the same; what comes and goes with power is no change', () => {
  expect(compare()).toEqual({ is: 'same' })
  const off = {
    power_state: 'off',
    running: false,
    host: 'esx-2',
    guest: { agent: 'unknown', agent_version: '', hostname: '' },
    disks: [sampleDisk({ used: 1, change_id: 'later' })],
    snapshots: [{ ref: 's', name: 's', created_at: null, memory: false, parent: null }],
  } as const
  expect(compare(moved({ host: '' }), off)).toEqual({ is: 'same' })
})

describe.each([false, true])('with force: %s', (force) => {
  test.each<[string, Partial<InstanceFacts>, string, string]>([
    ['UUID', { uuid: 'another' }, 'identity-changed', 'identity-changed'],
    ['name', { name: 'web-02' }, 'fail', 'name-changed'],
    ['size of a disk', { disks: [sampleDisk({ capacity: 512 })] }, 'fail', 'disks-changed'],
    ['number of disks', { disks: [sampleDisk(), sampleDisk({ key: '2001' })] }, 'fail', 'disks-changed'],
    ['file of a disk', { disks: [sampleDisk({ name: '[ssd] other.vmdk' })] }, 'fail', 'disks-changed'],
    ['disk', { disks: [] }, 'fail', 'disks-changed'],
  ])('another %s is an error', (_what, facts, event, code) => {
    expect(compare({ force }, facts)).toMatchObject({ is: 'error', event, reason: { code } })
  })

  test('an error goes before a conflict, and shows what changed', () => {
    const answer = compare({ force, ...moved({ target: 'edge' }) }, { uuid: 'another' })
    expect(answer).toMatchObject({ is: 'error', event: 'identity-changed' })
    expect('diff' in answer && answer.diff.map(({ path }) => path)).toEqual([
      'instance.uuid',
      'placement.target',
    ])
  })

  test.each<[string, Partial<CompareAsk>]>([
    ['another target', moved({ target: 'edge' })],
    ['another project', moved({ project: 'shop' })],
    ['another pool', moved({ pools: { 2000: 'fast' } })],
    ['a pool for a disk more', moved({ pools: { 2000: 'local', 2001: 'local' } })],
    ['a target that has no room for it any more', { problems: [trouble] }],
    ['a script that fails', { placement: null, problems: [trouble] }],
    ['no answer at all', { placement: null }],
  ])('%s is a conflict, or ignored', (_what, changes) => {
    const answer = compare({ force, ...changes })
    expect(answer.is).toBe(force ? 'keep' : 'conflict')
  })

  test('networks that changed alone are adopted', () => {
    const networks = { '00:50:56:aa:00:01': { network: 'dmz', nictype: 'managed', vlan_id: '' } } as const
    const answer = compare({ force, ...moved({ networks }) })
    expect(answer).toMatchObject({ is: 'adopt', record: { placement: { networks, host: 'node-1' } } })
  })

  test('other facts are adopted, but not that we switched it off', () => {
    const answer = compare({ force }, { cpus: 4, running: false, power_state: 'off' })
    expect(answer).toMatchObject({
      is: 'adopt',
      record: { facts: { cpus: 4, running: true, power_state: 'on' } },
    })
    expect('diff' in answer && answer.diff).toEqual([{ path: 'instance.cpus', from: 2, to: 4 }])
  })
})

test('an override of the name hides that the source was renamed', () => {
  const kept = { committed: { facts: effective({}, { name: 'shop-1' }), placement } }
  expect(compare({ ...kept, now: effective({ name: 'renamed' }, { name: 'shop-1' }) })).toEqual({
    is: 'same',
  })
})

test('a conflict keeps what is new apart from the record, and comes again as long as nothing changes', () => {
  const asked = moved({ target: 'edge', pools: { 2000: 'fast' } })
  const answer = compare(asked, { cpus: 4 })
  expect(answer).toMatchObject({
    is: 'conflict',
    reasons: [{ code: 'placement-changed' }, { code: 'placement-changed' }],
    pending: { facts: { cpus: 4 }, placement: { target: 'edge' } },
  })
  expect('diff' in answer && answer.diff.map(({ path }) => path)).toEqual([
    'instance.cpus',
    'placement.pools.2000',
    'placement.target',
  ])
  expect(committed).toEqual({ facts: effective(), placement })
  expect(compare(asked, { cpus: 4 })).toEqual(answer)
  expect(compare({}, { cpus: 4 }).is).toBe('adopt')
  expect(compare().is).toBe('same')
})

test('a NIC that came and has no place is a conflict; with force the first configuration stays', () => {
  const nics = [sampleNic(), sampleNic({ key: '4001', mac: '00:50:56:aa:00:02', network_ref: 'strange' })]
  const problems = [{ code: 'nic-without-place', message: 'Network adapter 2 has no place.' }]
  expect(compare({ problems }, { nics })).toMatchObject({ is: 'conflict', reasons: problems })
  expect(compare({ problems, force: true }, { nics })).toMatchObject({ is: 'keep', ignored: problems })
})
