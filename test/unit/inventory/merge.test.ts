import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { InstanceFacts } from '../../../src/domain/inventory/facts.ts'
import { decideInstance, decideVanished, type KnownInstance } from '../../../src/domain/inventory/merge.ts'
import { decideNetwork, decideRecord } from '../../../src/domain/inventory/record-merge.ts'
import { sampleDisk, sampleInstance, sampleNetwork, sampleNic } from './samples.ts'

const known = (changes: Partial<KnownInstance> = {}): KnownInstance => ({
  facts: sampleInstance(),
  tracking: { 2000: 'verified' },
  gone: false,
  pending: null,
  ...changes,
})

const decide = (record: KnownInstance | null, changes: Partial<InstanceFacts>, frozen = false) =>
  decideInstance({ known: record, seen: sampleInstance(changes), frozen })

const off: Partial<InstanceFacts> = {
  power_state: 'off',
  running: false,
  os: '',
  os_description: '',
  architecture: '',
  nics: [sampleNic({ ipv4_addresses: [] })],
  guest: { agent: 'not-running', agent_version: '', hostname: '' },
}

describe('what is recorded of an instance', () => {
  test('a new one is inserted as it was seen', () => {
    expect(decide(null, {})).toEqual({
      action: 'insert',
      facts: sampleInstance(),
      tracking: {},
      pending: null,
      changes: [],
      kinds: [],
    })
  })

  test('the same facts once more change nothing', () => {
    expect(decide(known(), {})).toMatchObject({ action: 'unchanged', changes: [], kinds: [] })
  })

  test('a machine that was switched off keeps what only its guest could tell', () => {
    const decision = decide(known(), off)
    expect(decision.action).toBe('update')
    expect(decision.kinds).toEqual(['power-changed'])
    expect(decision.facts).toMatchObject({
      os: 'Ubuntu',
      os_description: 'Ubuntu 22.04.3 LTS',
      architecture: 'x86_64',
      running: false,
      guest: { agent: 'not-running', hostname: 'web-01.shop.example' },
    })
    expect(decision.facts.nics[0]?.ipv4_addresses).toEqual(['10.1.0.7'])
  })

  test('an address that a running guest no longer has is gone', () => {
    const decision = decide(known(), { nics: [sampleNic({ ipv4_addresses: [] })] })
    expect(decision.facts.nics[0]?.ipv4_addresses).toEqual([])
  })

  test('addresses do not move to another card under the same key', () => {
    const decision = decide(known(), {
      ...off,
      nics: [sampleNic({ mac: '00:50:56:bb:00:01', ipv4_addresses: [] })],
    })
    expect(decision.facts.nics[0]?.ipv4_addresses).toEqual([])
    expect(decision.kinds).toContain('nics-changed')
  })

  test('a description may become empty, tags and attributes follow the source', () => {
    const decision = decide(known(), { description: '', tags: {}, attributes: { owner: 'eve' } })
    expect(decision.facts).toMatchObject({ description: '', tags: {}, attributes: { owner: 'eve' } })
    expect(decision.kinds).toEqual(['tags-changed'])
    expect(decision.changes).toContainEqual({ path: 'attributes.owner', from: 'ada', to: 'eve' })
  })

  test('another UUID under the same id is another machine: nothing is carried over', () => {
    const decision = decide(known(), { ...off, uuid: '5029cccc-1111-2222-3333-444455556666' })
    expect(decision).toMatchObject({ action: 'update', tracking: {} })
    expect(decision.kinds).toContain('identity-changed')
    expect(decision.facts.os).toBe('')
    expect(decision.facts.nics[0]?.ipv4_addresses).toEqual([])
  })

  test('a UUID that the platform does not show for a moment stays', () => {
    expect(decide(known(), { uuid: '', bios_uuid: '' })).toMatchObject({ action: 'unchanged' })
  })

  test.each([
    ['renamed', { name: 'web-02', location: '/Paris/vm/shop/web-02' }],
    ['moved', { location: '/Paris/vm/old/web-01', folder: '/Paris/vm/old' }],
    ['host-changed', { host: 'esx-2' }],
    ['resized', { cpus: 4 }],
    ['disks-changed', { disks: [sampleDisk({ capacity: 41 * 2 ** 30 })] }],
    ['nics-changed', { nics: [] }],
    [
      'snapshots-changed',
      { snapshots: [{ ref: 's', name: 's', created_at: null, memory: false, parent: null }] },
    ],
    ['tracking-changed', { background_import: false }],
    ['registered-again', { ref: 'vm-900' }],
  ] as const)('%s is told as such, and as nothing else', (kind, changes) => {
    expect(decide(known(), changes)).toMatchObject({ action: 'update', kinds: [kind] })
  })

  test('how full a disk is changes without being news', () => {
    const decision = decide(known(), { disks: [sampleDisk({ used: 1, change_id: '52 aa/8' })] })
    expect(decision).toMatchObject({ action: 'update', kinds: [] })
  })
})

describe('a frozen instance', () => {
  test('keeps its record; what changed is pending, once', () => {
    const first = decide(known(), { cpus: 8 }, true)
    expect(first).toMatchObject({ action: 'pend', kinds: ['resized'], pending: { type: 'facts' } })
    expect(first.facts).toEqual(sampleInstance())
    expect(first.changes).toEqual([{ path: 'cpus', from: 2, to: 8 }])
    const again = decide(known({ pending: first.pending }), { cpus: 8 }, true)
    expect(again).toMatchObject({ action: 'unchanged', pending: first.pending })
  })

  test('has nothing pending once the source is back to what is recorded', () => {
    const { pending } = decide(known(), { cpus: 8 }, true)
    expect(decide(known({ pending }), {}, true)).toMatchObject({ action: 'settle', pending: null })
    expect(decide(known({ pending }), {})).toMatchObject({ action: 'settle', pending: null })
  })

  test('does not pend because its disks fill up', () => {
    const disks = [sampleDisk({ used: 1, change_id: '52 aa/8' })]
    expect(decide(known(), { disks }, true)).toMatchObject({ action: 'unchanged', facts: sampleInstance() })
  })

  test('takes what was pending when it is thawed', () => {
    const { pending } = decide(known(), { cpus: 8 }, true)
    const thawed = decide(known({ pending }), { cpus: 8 })
    expect(thawed).toMatchObject({ action: 'update', pending: null, kinds: ['resized'] })
    expect(thawed.facts.cpus).toBe(8)
  })

  test('is not buried when it vanishes, and settles when it is there again', () => {
    const gone = decideVanished({ known: known(), frozen: true })
    expect(gone).toMatchObject({ action: 'pend', pending: { type: 'gone' }, kinds: ['vanished'] })
    const buried = known({ pending: gone.pending })
    expect(decideVanished({ known: buried, frozen: true })).toMatchObject({ action: 'unchanged' })
    expect(decide(buried, {}, true)).toMatchObject({ action: 'settle', pending: null })
  })

  test('keeps a changed identity pending, with nothing of the old machine in it', () => {
    const decision = decide(known(), { ...off, uuid: '5029cccc-1111-2222-3333-444455556666' }, true)
    expect(decision.kinds).toContain('identity-changed')
    expect(decision.pending).toMatchObject({ type: 'facts', facts: { os: '' } })
    expect(decision.facts.uuid).toBe(sampleInstance().uuid)
  })
})

describe('tombstones', () => {
  test('an instance that is gone becomes one, once', () => {
    const decision = decideVanished({ known: known(), frozen: false })
    expect(decision).toMatchObject({ action: 'vanish', kinds: ['vanished'], facts: sampleInstance() })
    expect(decideVanished({ known: known({ gone: true }), frozen: false })).toMatchObject({
      action: 'unchanged',
    })
  })

  test('one that is there again returns, also with other facts', () => {
    expect(decide(known({ gone: true }), {})).toMatchObject({ action: 'return', kinds: ['returned'] })
    const changed = decide(known({ gone: true }), { cpus: 4 })
    expect(changed).toMatchObject({ action: 'return', kinds: ['returned', 'resized'], facts: { cpus: 4 } })
    expect(decide(known({ gone: true }), { cpus: 4 }, true)).toMatchObject({
      action: 'return',
      facts: { cpus: 2 },
      pending: { type: 'facts', facts: { cpus: 4 } },
    })
  })
})

test('what was decided, decided again with the same facts, changes nothing', () => {
  const change = fc.record(
    {
      name: fc.constantFrom('a', 'b'),
      cpus: fc.integer({ min: 0, max: 2 }),
      uuid: fc.constantFrom('', sampleInstance().uuid, '5029cccc-1111-2222-3333-444455556666'),
      os: fc.constantFrom('', 'Debian'),
      running: fc.boolean(),
      background_import: fc.boolean(),
      nics: fc.constantFrom(
        [],
        [sampleNic({ ipv4_addresses: [] })],
        [sampleNic({ mac: '00:50:56:00:00:02' })],
      ),
      disks: fc.constantFrom([sampleDisk()], [], [sampleDisk({ used: null }), sampleDisk({ key: '2001' })]),
    },
    { requiredKeys: [] },
  )
  const history = fc.array(fc.tuple(change, fc.boolean(), fc.boolean()), { minLength: 1, maxLength: 8 })
  fc.assert(
    fc.property(history, (steps) => {
      let record: KnownInstance | null = steps.length % 2 === 0 ? known() : null
      for (const [changes, frozen, vanishes] of steps) {
        const vanish = vanishes && record !== null
        const apply = () => {
          const decision =
            vanish && record
              ? decideVanished({ known: record, frozen })
              : decideInstance({ known: record, seen: sampleInstance(changes), frozen })
          const before: KnownInstance | null = record
          const gone =
            decision.action === 'vanish' || (decision.action === 'unchanged' && before?.gone === true)
          record = { facts: decision.facts, tracking: decision.tracking, pending: decision.pending, gone }
          return { decision, before }
        }
        const { decision, before } = apply()
        if (frozen && before) expect(decision.facts).toEqual(before.facts)
        expect(apply().decision).toMatchObject({ action: 'unchanged', changes: [], kinds: [] })
      }
    }),
  )
})

describe('networks and other records', () => {
  const network = { facts: sampleNetwork({ segment_id: 'seg-1' }), gone: false, pending: null }

  test('a network keeps the segment that only another source could tell', () => {
    expect(decideNetwork({ known: network, seen: sampleNetwork(), frozen: false }).action).toBe('unchanged')
  })

  test('a network that a running batch uses keeps its record', () => {
    const seen = sampleNetwork({ vlan: '12', segment_id: 'seg-1' })
    const decision = decideNetwork({ known: network, seen, frozen: true })
    expect(decision).toMatchObject({ action: 'pend', facts: network.facts, pending: seen })
    const again = { ...network, pending: decision.pending }
    expect(decideNetwork({ known: again, seen, frozen: true }).action).toBe('unchanged')
    expect(decideNetwork({ known: again, seen: network.facts, frozen: true }).action).toBe('settle')
    expect(decideNetwork({ known: again, seen, frozen: false })).toMatchObject({
      action: 'update',
      pending: null,
    })
  })

  test('a record comes, and comes back', () => {
    const seen = sampleNetwork()
    expect(decideRecord({ known: null, seen, frozen: false }).action).toBe('insert')
    const gone = { facts: seen, gone: true, pending: null }
    expect(decideRecord({ known: gone, seen, frozen: false }).action).toBe('return')
    expect(decideRecord({ known: gone, seen: { ...seen, vlan: '3' }, frozen: true })).toMatchObject({
      action: 'return',
      pending: { vlan: '3' },
    })
  })
})
