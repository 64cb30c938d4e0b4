import { describe, expect, test } from 'vitest'
import { batchDefaults, batchProbes } from '../../../src/domain/migration/batch/batch-settings.ts'

const network = (changes: Record<string, unknown>) => ({ network: 'lan', target: 'oslo', ...changes })

describe('the networks of a batch', () => {
  test.each<[string, Record<string, unknown>, boolean]>([
    ['on one VLAN', { nictype: 'bridged', vlan_id: '100' }, true],
    ['on several VLANs', { nictype: 'physical', vlan_id: '100,200-210' }, true],
    ['managed, without a VLAN', {}, true],
    ['on no VLAN that there is', { nictype: 'bridged', vlan_id: 'nonsense' }, false],
    ['on a VLAN beyond the last', { nictype: 'bridged', vlan_id: '4095' }, false],
    ['managed, on a VLAN', { vlan_id: '100' }, false],
  ])('%s', (_what, changes, fine) => {
    const parsed = batchDefaults.safeParse({
      placement: { target: 'oslo' },
      migration_network: [network(changes)],
    })
    expect(parsed.error?.issues.map(({ path }) => path.join('.')) ?? []).toEqual(
      fine ? [] : ['migration_network.0.vlan_id'],
    )
  })
})

test('two probes of one batch have two names', () => {
  const probes = (...names: string[]) =>
    batchProbes.safeParse(names.map((name) => ({ name, ports: [443] }))).success
  expect(probes('web', 'ssh')).toBe(true)
  expect(probes('web', 'web')).toBe(false)
})
