import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import {
  cleanHost,
  cleanInstance,
  cleanNetwork,
  cleanProject,
  cleanStorage,
} from '../../../src/domain/inventory/normalise.ts'
import { jsonLimits, readBoundedJson } from '../../../src/platforms/http/bounded-json.ts'
import { answerError, asPlatformError, parseAnswer } from '../../../src/platforms/lab/lab-answer.ts'
import { type FactsOf, readFacts } from '../../../src/platforms/lab/lab-facts.ts'
import * as shapes from '../../../src/platforms/lab/protocol.ts'
import { PlatformError } from '../../../src/platforms/ports/platform-error.ts'
import { hostileWords, plainLine } from '../../support/hostile-words.ts'
import { hostFacts, instanceFacts, networkFacts, storageFacts } from '../../support/imagined-site.ts'
import { mutated } from '../../support/mutated.ts'

const protocol = new Map<string, unknown>(Object.entries(shapes))

const typed = (read: () => unknown): unknown => {
  try {
    return read()
  } catch (error) {
    expect(error).toBeInstanceOf(PlatformError)
    expect((error as PlatformError).message).toMatch(plainLine)
    expect((error as PlatformError).message.length).toBeLessThan(1_100)
    return undefined
  }
}

const snapshot = {
  ref: 's-1',
  name: 'before',
  created_at: '2026-01-01T00:00:00Z',
  memory: false,
  parent: null,
}
const cleaning: { [Type in keyof FactsOf]: { valid: unknown; clean: (facts: FactsOf[Type]) => object } } = {
  instance: {
    valid: {
      ...instanceFacts({ ref: 'vm-1' }),
      snapshots: [snapshot],
      devices: [{ kind: 'usb', label: 'a', connected: true }],
      tags: { tier: ['gold'] },
      attributes: { owner: 'ann' },
    },
    clean: (facts) => cleanInstance(facts).facts,
  },
  network: { valid: networkFacts, clean: (facts) => cleanNetwork(facts).facts },
  host: { valid: hostFacts, clean: (facts) => cleanHost(facts).facts },
  storage: { valid: storageFacts, clean: (facts) => cleanStorage(facts).facts },
  project: {
    valid: { ref: 'p-1', name: 'shop', limits: { cpus: 4 }, used: { cpus: 1 } },
    clean: (facts) => cleanProject(facts).facts,
  },
}

test.each(Object.keys(cleaning) as (keyof FactsOf)[])(
  'facts of a %s with anything at any place can be stored, or are a typed error',
  (type) => {
    const { valid, clean } = cleaning[type]
    fc.assert(
      fc.property(mutated(valid), (facts) => {
        const read = typed(() => (clean as (given: unknown) => object)(readFacts(type, facts)))
        if (read === undefined) return
        expect(JSON.stringify(JSON.parse(JSON.stringify(read)))).toBe(JSON.stringify(read))
        expect(JSON.stringify(read)).not.toMatch(/\\u0000|\\ud[89ab]..(?!\\ud[c-f])/)
      }),
      { numRuns: 150 },
    )
  },
)

const wireError = { code: 'platform-fault', failure: 'unknown', message: 'no', remedy: 'look' }
const move = {
  phase: 'bulk-copy',
  copied: 1,
  total: 2,
  iteration: 1,
  throttle: 0,
  converging: true,
  abortable: true,
}
const task = {
  id: 't-1',
  name: 'n',
  kind: 'start',
  machine: 'vm-1',
  state: 'running',
  percent: 1,
  result: null,
  error: wireError,
  move,
}
const template = { ref: 'vm-1', name: 'golden', folder: '/', owner: { drover: 'x' }, complete: true }

/** A valid answer for each shape that the driver reads. */
const answers: Readonly<Record<string, readonly [keyof typeof shapes, unknown]>> = {
  session: ['session', { token: 'abc' }],
  about: ['about', { product: 'Lab', version: '1', instance_id: 'i', now: '2026-01-01T00:00:00Z' }],
  inventory: [
    'inventoryPage',
    {
      items: [
        { type: 'host', facts: { ref: 'h-1' } },
        { type: 'gone', of: 'host', ref: 'h-2' },
        { type: 'problem', of: 'instance', ref: 'vm-1', name: 'n', error: wireError },
      ],
      next: 'a',
      cursor: null,
    },
  ],
  instance: ['instanceAnswer', { facts: { ref: 'vm-1' } }],
  refs: ['refs', { refs: ['vm-1'] }],
  owner: ['ownerAnswer', { owner: { drover: 'x' } }],
  power: ['powerAnswer', { state: 'on', host: 'h-1', boot_id: 'b' }],
  guest: [
    'guestAnswer',
    { agent: 'running', hostname: 'h', addresses: [{ mac: 'm', address: 'a' }], boot_id: 'b', counter: 1 },
  ],
  ports: ['portsAnswer', { open: [22] }],
  snapshots: ['snapshotsAnswer', { snapshots: [{ ref: 's-1', name: 'n', parent: null }] }],
  extents: ['extentsPage', { extents: [{ offset: 0, length: 1 }], next_offset: 1 }],
  changes: ['changedBlocksAnswer', { extents: [{ offset: 0, length: 1 }], change_id: 'c' }],
  template: ['template', template],
  templates: ['templatesAnswer', { templates: [template] }],
  image: ['imageAnswer', { ref: 'vm-1' }],
  received: ['receivedAnswer', { received: 1 }],
  saved: ['savedState', { ref: 's-1', machine: 'vm-1', size: 1, digest: 'd', complete: true }],
  task: ['task', task],
  tasks: ['tasksAnswer', { tasks: [task] }],
  abort: ['abortAnswer', { outcome: 'aborted' }],
}

const httpAnswer = (value: unknown, status = 200) => ({
  ...{ status, headers: {}, contentType: 'application/json' },
  body: Buffer.from(typeof value === 'string' ? value : (JSON.stringify(value) ?? '')),
})

test.each(Object.entries(answers))(
  'an answer (%s) with anything at any place is of its shape, or a typed error',
  (_name, [shape, valid]) => {
    const schema = protocol.get(shape) as typeof shapes.about
    expect(parseAnswer(httpAnswer(valid), schema)).toBeDefined()
    fc.assert(
      fc.property(mutated(valid), (value) => {
        typed(() => parseAnswer(httpAnswer(value), schema))
      }),
      { numRuns: 100 },
    )
  },
)

test.each(Object.entries(hostileWords))(
  'an error whose words are %s is said in one plain, bounded line',
  (_kind, word) => {
    for (const error of [
      asPlatformError({ code: 'platform-fault', failure: 'unknown', message: word, remedy: word }),
      answerError(
        httpAnswer({ code: 'platform-fault', failure: 'unknown', message: word, remedy: word }, 500),
      ),
      answerError(httpAnswer({ code: word, failure: word, message: word, remedy: word }, 500)),
      answerError(httpAnswer(word, 500)),
    ]) {
      expect(`${error.message}${error.remedy}`).toMatch(plainLine)
      expect(error.message.length + error.remedy.length).toBeLessThan(1_500)
    }
  },
)

test('a million small values take no room: they are counted before they are made', () => {
  const parsed = vi.spyOn(JSON, 'parse')
  for (const body of [
    '[[],'.repeat(8_000_000),
    `[${'{},'.repeat(8_000_000)}`,
    `[${'0,'.repeat(8_000_000)}0]`,
  ])
    expect(readBoundedJson(Buffer.from(body))).toHaveProperty('refusal')
  expect(parsed).not.toHaveBeenCalled()
  parsed.mockRestore()
  expect(readBoundedJson(Buffer.from('[[],{},0]'))).toEqual({ value: [[], {}, 0] })
})

test('what is deep is refused, and commas and brackets in texts are none', () => {
  expect(readBoundedJson(Buffer.from(`${'['.repeat(100_000)}${']'.repeat(100_000)}`))).toEqual({
    refusal: `it is deeper than ${jsonLimits.depth} levels`,
  })
  const text = '[[[,,,"\\'.repeat(1_000)
  expect(readBoundedJson(Buffer.from(JSON.stringify([text, '\\', '"'])))).toEqual({
    value: [text, '\\', '"'],
  })
})

test('lists longer than any are refused before their entries are looked at', () => {
  const page = { items: Array.from({ length: 1_900_000 }, () => 0), next: null, cursor: null }
  expect(() => parseAnswer(httpAnswer(page), shapes.inventoryPage)).toThrow(/Too big: expected array/)
  const nics = Array.from({ length: 100_000 }, () => 0)
  expect(() => readFacts('instance', { ref: 'vm-1', power_state: 'on', nics })).toThrow(/nics/)
  const tags = Object.fromEntries(nics.map((_, index) => [`t${index}`, 0]))
  expect(() => readFacts('instance', { ref: 'vm-1', power_state: 'on', tags })).toThrow(/more than/)
})
