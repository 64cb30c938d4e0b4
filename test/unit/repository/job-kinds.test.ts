import { randomUUID } from 'node:crypto'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { defineKind, nameSchema, platformIdSchema, readPayload } from '../../../src/domain/job/kind.ts'
import { findKind, jobKinds } from '../../../src/domain/job/kinds/registry.ts'
import { defaultRetryPolicy } from '../../../src/domain/job/retry.ts'
import { createSealer } from '../../../src/seal/seal.ts'
import { CpuPool } from '../../../workers/cpu-pool.ts'
import { createHandlers } from '../../../workers/handlers/registry.ts'

const noImages = { dir: undefined, allowPrivate: false }
const id = '0197a000-0000-7000-8000-000000000001'

type Payload = Record<string, unknown>
interface Sample {
  /** The least that is enough, and what it becomes. */
  readonly least: Payload
  readonly filled: Payload
  readonly refused: Record<string, Payload>
}

const samples: Record<string, Sample> = {
  'sync-source': {
    least: { source: 'vc-1' },
    filled: { source: 'vc-1', mode: 'delta', reason: 'manual', force: false },
    refused: { mode: { source: 'vc-1', mode: 'half' }, source: { source: '../etc' } },
  },
  'sync-target': {
    least: { target: 't' },
    filled: { target: 't', mode: 'delta', reason: 'manual', force: false },
    refused: { mode: { target: 't', mode: 'half' }, target: { target: '../etc' } },
  },
  'check-connection': {
    least: { role: 'source', name: 'vc-1' },
    filled: { role: 'source', name: 'vc-1', reason: 'manual' },
    refused: { role: { role: 'host', name: 'vc-1' }, name: { role: 'source', name: '' } },
  },
  'operate-machine': {
    least: { operation_id: id },
    filled: { operation_id: id },
    refused: { operation_id: { operation_id: 'x' } },
  },
  'power-instance': {
    least: { instance: id, verb: 'start' },
    filled: { instance: id, verb: 'start', force: false, timeout_seconds: 300, after_entry: null },
    refused: {
      verb: { instance: id, verb: 'explode' },
      instance: { instance: 'x', verb: 'start' },
      timeout_seconds: { instance: id, verb: 'shutdown', timeout_seconds: 1 },
    },
  },
  'track-instance': {
    least: { instance: id, verb: 'reset' },
    filled: { instance: id, verb: 'reset', remove_snapshots: false, force: false, timeout_seconds: 300 },
    refused: { verb: { instance: id, verb: 'stop' } },
  },
  'place-instance': {
    least: { batch: 'b', entry_id: id, instance_id: id, revision: 0 },
    filled: { batch: 'b', entry_id: id, instance_id: id, revision: 0 },
    refused: {
      revision: { batch: 'b', entry_id: id, instance_id: id, revision: -1 },
      entry_id: { batch: 'b', entry_id: 'x', instance_id: id, revision: 1 },
    },
  },
  'import-instance': {
    least: { batch: 'b', entry_id: id },
    filled: { batch: 'b', entry_id: id },
    refused: { entry_id: { batch: 'b', entry_id: 'x' }, batch: { batch: 'a b', entry_id: id } },
  },
  'cutover-instance': {
    least: { batch: 'b', entry_id: id },
    filled: { batch: 'b', entry_id: id },
    refused: { entry_id: { batch: 'b', entry_id: 'x' } },
  },
  'withdraw-entry': {
    least: { batch: 'b', entry_id: id, source: 'start', target: 'keep' },
    filled: { batch: 'b', entry_id: id, source: 'start', target: 'keep' },
    refused: {
      source: { batch: 'b', entry_id: id, source: 'stop', target: 'keep' },
      target: { batch: 'b', entry_id: id, source: 'keep' },
    },
  },
  'start-batch': {
    least: { batch: 'b', purpose: 'assign', version: 1 },
    filled: { batch: 'b', purpose: 'assign', version: 1 },
    refused: { purpose: { batch: 'b', purpose: 'stop', version: 1 } },
  },
  'plan-batch': {
    least: { batch: 'b', version: 1, by: 'ada' },
    filled: { batch: 'b', version: 1, by: 'ada' },
    refused: { version: { batch: 'b', version: 0, by: 'ada' } },
  },
  'final-verify': {
    least: { batch: 'b', entry_id: id },
    filled: { batch: 'b', entry_id: id, force: false },
    refused: { force: { batch: 'b', entry_id: id, force: 'yes' } },
  },
  'self-test': {
    least: {},
    filled: { outcome: 'succeed', steps: 0, step_ms: 0, burn_ms: 0, effects: 0 },
    refused: { steps: { steps: 1_001 }, step_ms: { step_ms: 0.5 }, outcome: { outcome: 'explode' } },
  },
  'import-ova': {
    least: { image_id: id, replica_id: id },
    filled: { image_id: id, replica_id: id },
    refused: { image_id: { image_id: 'x', replica_id: id }, replica_id: { image_id: id } },
  },
  'swap-template': {
    least: { template_id: id },
    filled: { template_id: id },
    refused: { template_id: { template_id: 'x' } },
  },
  'remove-replica': {
    least: { replica_id: id },
    filled: { replica_id: id },
    refused: { replica_id: { replica_id: 'x' } },
  },
  'settle-debt': {
    least: { effect_id: id },
    filled: { effect_id: id },
    refused: { effect_id: { effect_id: 'x' } },
  },
}

const kindNamed = (name: string) => {
  const kind = findKind(name)
  if (!kind) throw new Error(`There is no kind ${name}.`)
  return kind
}

test('every kind has a handler, and every handler a kind', async () => {
  const cpu = new CpuPool()
  onTestFinished(() => cpu.close())
  // Nothing is run: the parts of the handlers are never asked.
  const { handlers } = createHandlers({
    sealer: createSealer('0'.repeat(64)),
    world: null as never,
    cpu,
    images: noImages,
  })
  expect([...handlers.keys()].sort()).toEqual(jobKinds.map(({ kind }) => kind).sort())
})

test('every kind that exists has samples here, and every sample has a kind', () => {
  expect(jobKinds.map(({ kind }) => kind).sort()).toEqual(Object.keys(samples).sort())
  expect(new Set(jobKinds.map(({ kind }) => kind)).size).toBe(jobKinds.length)
  expect(findKind('no-such-kind')).toBeUndefined()
  expect(findKind('constructor')).toBeUndefined()
})

describe.each(Object.entries(samples))('the payload of %s', (name, sample) => {
  const kind = kindNamed(name)

  test('is accepted with the least there must be, and its defaults are filled in', () => {
    expect(readPayload(kind, kind.version, sample.least)).toEqual({ ...sample.least, ...sample.filled })
  })

  test('reads the same when what was stored is read again', () => {
    const once = readPayload(kind, kind.version, sample.least)
    expect(readPayload(kind, kind.version, JSON.parse(JSON.stringify(once)))).toEqual(once)
  })

  test('refuses a field that it does not know', () => {
    expect(kind.payload.safeParse({ ...sample.least, [`x${randomUUID()}`]: 1 }).success).toBe(false)
  })

  test('refuses what is not an object', () => {
    for (const wrong of [null, undefined, [], 'text', 7])
      expect(kind.payload.safeParse(wrong).success).toBe(false)
  })

  test.each(Object.entries(sample.refused))('names the field when %s is wrong', (field, payload) => {
    const result = kind.payload.safeParse(payload)
    expect(result.error?.issues[0]?.path[0]).toBe(field.trim())
  })

  test('refuses each missing field that has no default', () => {
    for (const field of Object.keys(sample.least)) {
      const { [field]: _gone, ...rest } = sample.least
      expect(kind.payload.safeParse(rest).success).toBe(false)
    }
  })
})

describe('a kind', () => {
  const payload = z.strictObject({ a: z.string() })

  test('takes the defaults of retry for what it does not set', () => {
    const kind = defineKind({ kind: 'k', title: 'K', version: 1, payload, retry: { bugMax: 1 } })
    expect(kind.retry).toEqual({ ...defaultRetryPolicy, bugMax: 1 })
  })

  test.each(['Sync', 'sync_source', '-a', 'a-', 'a--b', '', '1a'])(
    'is refused with the name "%s"',
    (name) => {
      expect(() => defineKind({ kind: name, title: 'K', version: 1, payload })).toThrow(/kebab-case/)
    },
  )

  test('is refused when an older payload could not be lifted', () => {
    const upgrades = { 1: (older: unknown) => older }
    expect(() => defineKind({ kind: 'k', title: 'K', version: 3, payload, upgrades })).toThrow(/version 2/)
  })

  test('lifts an older payload one version at a time before it checks it', () => {
    const kind = defineKind({
      kind: 'k',
      title: 'K',
      version: 3,
      payload,
      upgrades: {
        1: (older) => ({ b: (older as { c: string }).c }),
        2: (older) => ({ a: (older as { b: string }).b }),
      },
    })
    expect(readPayload(kind, 1, { c: 'x' })).toEqual({ a: 'x' })
    expect(readPayload(kind, 2, { b: 'y' })).toEqual({ a: 'y' })
    expect(readPayload(kind, 3, { a: 'z' })).toEqual({ a: 'z' })
    expect(() => readPayload(kind, 3, { c: 'x' })).toThrow()
  })

  test('leaves a payload alone that a newer Drover wrote', () => {
    const kind = defineKind({ kind: 'k', title: 'K', version: 1, payload })
    expect(() => readPayload(kind, 2, { a: 'x' })).toThrow(/version 2/)
  })
})

test.each([
  ['web-1.prod', true],
  ['A', true],
  ['a'.repeat(63), true],
  ['a'.repeat(64), false],
  ['-a', false],
  ['.', false],
  ['a/b', false],
  ['a\n', false],
  ['', false],
])('"%s" is a name: %s', (text, fits) => {
  expect(nameSchema.safeParse(text).success).toBe(fits)
})

test.each([
  ['vm-42', true],
  ['[datastore]/x.vmx', true],
  ['a b', false],
  ['é', false],
  ['', false],
  ['x'.repeat(129), false],
])('"%s" is an id of a platform: %s', (text, fits) => {
  expect(platformIdSchema.safeParse(text).success).toBe(fits)
})
