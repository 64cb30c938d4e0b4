import { describe, expect, test } from 'vitest'
import { identify, type UuidOwner, whyIgnored } from '../../../src/domain/inventory/identity.ts'
import { decideInstance } from '../../../src/domain/inventory/merge.ts'
import {
  carryTracking,
  diskChanges,
  type TrackingRecord,
  trackingState,
} from '../../../src/domain/inventory/tracking.ts'
import { sampleDisk, sampleInstance } from './samples.ts'

const two = sampleInstance({ disks: [sampleDisk(), sampleDisk({ key: '2001', name: '[ssd] b.vmdk' })] })
const both: TrackingRecord = { 2000: 'verified', 2001: 'verified' }

describe('the proof that changed blocks can be read', () => {
  test('is kept for each disk alone', () => {
    expect(carryTracking(both, two, two)).toEqual(both)
    const grown = { ...two, disks: [two.disks[0]!, { ...two.disks[1]!, capacity: 2 ** 40 }] }
    expect(carryTracking(both, two, grown)).toEqual({ 2000: 'verified' })
    expect(carryTracking({ 2000: 'refused', 2001: 'verified' }, two, grown)).toEqual({ 2000: 'refused' })
  })

  test.each([
    ['name', { name: '[ssd] other.vmdk' }],
    ['capacity', { capacity: 1_024 }],
    ['backing', { backing: 'raw' }],
    ['mode', { mode: 'independent' }],
    ['sharing', { shared: true }],
    ['datastore', { datastore: 'hdd' }],
  ] as const)('goes with a change of the %s', (_what, changes) => {
    const after = { ...two, disks: [{ ...two.disks[0]!, ...changes }, two.disks[1]!] }
    expect(carryTracking(both, two, after)).toEqual({ 2001: 'verified' })
  })

  test('stays when only its content changed', () => {
    const after = {
      ...two,
      disks: two.disks.map((disk) => ({ ...disk, used: 1, change_id: 'x', label: 'y' })),
    }
    expect(carryTracking(both, two, after)).toEqual(both)
  })

  test('is lost with the flag, and a new disk begins without', () => {
    expect(carryTracking(both, two, { ...two, background_import: false })).toEqual({})
    const added = { ...two, disks: [...two.disks, sampleDisk({ key: '2002' })] }
    expect(trackingState(added, carryTracking(both, two, added))).toBe('unverified')
  })

  test('survives a sync through the record', () => {
    const known = { facts: two, tracking: both, gone: false, pending: null }
    const seen = { ...two, cpus: 9, disks: [two.disks[0]!] }
    expect(decideInstance({ known, seen, frozen: false }).tracking).toEqual({ 2000: 'verified' })
  })

  test('holds for an instance when it holds for all disks that are copied', () => {
    expect(trackingState({ ...two, background_import: false }, both)).toBe('off')
    expect(trackingState(two, both)).toBe('verified')
    expect(trackingState(two, { 2000: 'verified' })).toBe('unverified')
    expect(trackingState(two, { 2000: 'refused' })).toBe('refused')
    const raw = { ...two, disks: [two.disks[0]!, { ...two.disks[1]!, backing: 'raw' as const }] }
    expect(trackingState(raw, { 2000: 'verified' })).toBe('verified')
    const odd = { ...two, disks: [sampleDisk({ key: 'constructor' })] }
    expect(trackingState(odd, {})).toBe('unverified')
  })

  test('changes of disks are told apart', () => {
    const before = ['a', 'b', 'c', 'd'].map((key) => sampleDisk({ key }))
    const after = [
      sampleDisk({ key: 'a', capacity: 512 }),
      sampleDisk({ key: 'b', name: 'x' }),
      sampleDisk({ key: 'd', used: 1 }),
      sampleDisk({ key: 'e' }),
    ]
    expect(diskChanges(before, after)).toEqual({
      added: ['e'],
      removed: ['c'],
      resized: ['a'],
      replaced: ['b'],
    })
  })
})

describe('which record a machine belongs to', () => {
  const uuid = sampleInstance().uuid
  const record = (ref: string, changes: { uuid?: string; gone?: boolean } = {}) => ({
    ref,
    uuid,
    gone: false,
    ...changes,
  })
  const nothingGone = () => false

  test('the one under its id, whatever its UUID is now', () => {
    const atRef = record('vm-101', { uuid: 'other' })
    const sameUuid = [record('vm-7', { gone: true })]
    const seen = { ref: 'vm-101', uuid }
    expect(identify({ seen, atRef, sameUuid, refIsGone: () => true })).toEqual({
      known: atRef,
      follows: false,
      displaced: null,
    })
  })

  test('the one with its UUID, when that id is gone in the same reading', () => {
    const old = record('vm-7')
    const options = { seen: { ref: 'vm-101', uuid }, atRef: null, sameUuid: [old] }
    expect(identify({ ...options, refIsGone: (ref) => ref === 'vm-7' })).toMatchObject({
      known: old,
      follows: true,
    })
    // Still there: this one is a copy with the same UUID.
    expect(identify({ ...options, refIsGone: nothingGone })).toMatchObject({ known: null, follows: false })
  })

  test('a live one before a tombstone, and a tombstone when there is no other', () => {
    const [buried, live] = [record('vm-1', { gone: true }), record('vm-2')]
    const options = { seen: { ref: 'vm-101', uuid }, atRef: null, sameUuid: [buried, live] }
    expect(identify({ ...options, refIsGone: () => true }).known).toBe(live)
    expect(identify({ ...options, refIsGone: nothingGone }).known).toBe(buried)
  })

  test('a tombstone of another machine under its id gives the id up', () => {
    const [stale, old] = [record('vm-101', { uuid: 'other', gone: true }), record('vm-7')]
    const options = { seen: { ref: 'vm-101', uuid }, atRef: stale, sameUuid: [old] }
    expect(identify({ ...options, refIsGone: () => true })).toEqual({
      known: old,
      follows: true,
      displaced: stale,
    })
    expect(identify({ ...options, sameUuid: [], refIsGone: () => true })).toMatchObject({
      known: stale,
      follows: false,
    })
  })

  test('none by an empty UUID', () => {
    const options = {
      seen: { ref: 'vm-101', uuid: '' },
      atRef: null,
      sameUuid: [record('vm-7', { uuid: '' })],
    }
    expect(identify({ ...options, refIsGone: () => true }).known).toBeNull()
  })
})

describe('machines that are no instances', () => {
  const owner: UuidOwner = { source: 'paris', ref: 'vm-101', name: 'web-01' }
  const why = (changes: Parameters<typeof sampleInstance>[0], source = 'paris') =>
    whyIgnored({ facts: sampleInstance(changes), source, ownerOf: () => owner })

  test.each([
    ['template', { template: true }],
    ['appliance', { appliance: true }],
    ['cluster-agent', { name: 'vCLS-4229abcd' }],
    ['cluster-agent', { name: 'vCLS (1)' }],
    ['no-configuration', { uuid: '', cpus: 0, memory: 0, disks: [] }],
    ['no-identity', { uuid: '' }],
    ['duplicate-uuid', { ref: 'vm-9' }],
  ] as const)('%s', (reason, changes) => {
    expect(why(changes)).toMatchObject({ reason, sentence: expect.stringMatching(/^[A-Z].*\.$/) })
  })

  test('the owner of its UUID is one, and so is a machine with an ordinary name', () => {
    expect(why({})).toBeNull()
    expect(why({ name: 'vclsomething' })).toBeNull()
    expect(whyIgnored({ facts: sampleInstance(), source: 'x', ownerOf: () => undefined })).toBeNull()
  })

  test('the same id in another source is another machine, and the first one is named', () => {
    expect(why({}, 'london')).toMatchObject({
      reason: 'duplicate-uuid',
      sentence: expect.stringContaining('web-01 (vm-101) of source paris'),
    })
  })
})
