import { describe, expect, test } from 'vitest'
import {
  type BatchEdit,
  type BatchShape,
  checkBatchEdit,
  type EditedEntry,
} from '../../../src/domain/migration/batch/batch-edit.ts'
import {
  batchConfig,
  batchConstraints,
  batchDefaults,
  batchProbes,
  batchWindows,
} from '../../../src/domain/migration/batch/batch-settings.ts'
import type { EntryPlace } from '../../../src/domain/migration/entry/entry.ts'
import type { Window } from '../../../src/domain/migration/schedule/windows.ts'

const minute = 60_000
const constraints = batchConstraints.parse([
  { name: 'all', include_expression: 'true', max_concurrent_instances: 5 },
  { name: 'database', include_expression: 'db', min_instance_boot_time: '10m' },
])
const shape: BatchShape = {
  name: 'wave-1',
  include_expression: 'true',
  defaults: batchDefaults.parse({ placement: { target: 'cloud' } }),
  config: batchConfig.parse({}),
  constraints,
}
const window: Window = {
  id: 'w',
  name: 'night',
  startsAt: 0,
  endsAt: 90 * minute,
  lockoutAt: null,
  capacity: 2,
}
const { id: _id, ...sent } = window

const entry = (state: EntryPlace['state'], stage: EntryPlace['stage'] = 'background'): EditedEntry => ({
  id: 'web',
  state,
  stage,
  placementFailed: false,
})
const committed = [entry('final-import', 'final')]

/** The fields that are refused. "true" matches every instance, "db" only the entry `db`. */
const refused = (changes: Partial<BatchShape>, more: Partial<BatchEdit> = {}) =>
  checkBatchEdit({
    state: 'running',
    before: shape,
    after: { ...shape, ...changes },
    entries: [],
    matches: (expression, id) => expression === 'true' || expression === id,
    now: 10 * minute,
    windowsBefore: [window],
    windowsAfter: [sent],
    held: new Map(),
    ...more,
  }).map(({ field }) => field)

const { placement } = shape.defaults
const withPlacement = (changes: Partial<typeof placement>) => ({
  defaults: { ...shape.defaults, placement: { ...placement, ...changes } },
})

describe('what was decided at the start', () => {
  test.each<[string, Partial<BatchShape>]>([
    ['name', { name: 'wave-2' }],
    ['include_expression', { include_expression: 'db' }],
    ['defaults.placement.target', withPlacement({ target: 'other' })],
    ['defaults.placement.target_project', withPlacement({ target_project: 'shop' })],
    ['defaults.placement.storage_pool', withPlacement({ storage_pool: 'fast' })],
    [
      'defaults.migration_network',
      {
        defaults: batchDefaults.parse({
          placement,
          migration_network: [{ network: 'copy', target: 'cloud' }],
        }),
      },
    ],
  ])('%s stays until a reset', (field, changes) => {
    for (const state of ['running', 'stopped', 'finished', 'error'] as const)
      expect(refused(changes, { state }), state).toEqual([field])
    expect(refused(changes, { state: 'defined' })).toEqual([])
  })

  test.each<[string, Partial<BatchShape>]>([
    ['nothing', {}],
    ['force_conflict_resolution', { defaults: { ...shape.defaults, force_conflict_resolution: true } }],
    ['intervals', { config: { ...shape.config, background_sync_interval: '1h' } }],
    ['retries', { config: { ...shape.config, post_migration_retries: 0 } }],
    ['rerun_scriptlets', { config: { ...shape.config, rerun_scriptlets: true } }],
    [
      'restrictions',
      {
        config: batchConfig.parse({ instance_restriction_overrides: { allow_no_ipv4: true } }),
      },
    ],
  ])('%s may change at any time', (_what, changes) => {
    expect(refused(changes, { entries: [...committed, entry('waiting')] })).toEqual([])
  })
})

describe('constraints', () => {
  const [all, database] = constraints
  if (!all || !database) throw new Error('There are two constraints.')
  const changed = { ...all, max_concurrent_instances: 6 }

  test('one that matches an instance whose source is off neither changes, nor comes, nor goes', () => {
    expect(refused({ constraints: [changed, database] }, { entries: committed })).toEqual(['constraints.0'])
    expect(refused({ constraints: [database] }, { entries: committed })).toEqual(['constraints'])
    const more = { ...all, name: 'more', include_expression: 'web' }
    expect(refused({ constraints: [...constraints, more] }, { entries: committed })).toEqual([
      'constraints.2',
    ])
  })

  test('one that matches only others may do all of that', () => {
    const slower = { ...database, min_instance_boot_time: '20m' }
    expect(refused({ constraints: [all, slower] }, { entries: committed })).toEqual([])
    expect(refused({ constraints: [all] }, { entries: committed })).toEqual([])
    expect(refused({ constraints: [changed, database] }, { entries: [entry('idle', 'final')] })).toEqual([])
  })

  test('an expression that no longer matches does not get round it', () => {
    const elsewhere = { ...all, include_expression: 'db && db' }
    expect(refused({ constraints: [elsewhere, database] }, { entries: committed })).toEqual(['constraints.0'])
  })

  test('their order may change as long as no other one counts for an instance whose source is off', () => {
    const turned = { constraints: [database, all] }
    const inDatabase: EditedEntry = { ...entry('worker-done', 'complete'), id: 'db' }
    expect(refused(turned, { entries: committed })).toEqual([])
    expect(refused(turned, { entries: [inDatabase] })).toEqual(['constraints'])
  })
})

describe('the placement script', () => {
  const changes = { config: { ...shape.config, placement_scriptlet: 'const placement = () => {}' } }

  test.each<[EntryPlace['state'], EntryPlace['stage'], boolean]>([
    ['blocked', 'background', true],
    ['waiting', 'background', true],
    ['creating', 'background', true],
    ['conflict', 'background', false],
    ['conflict', 'complete', false],
    ['idle', 'final', false],
    ['worker-done', 'complete', false],
    ['finished', 'complete', false],
  ])('with an entry in %s/%s it is kept: %s', (state, stage, kept) => {
    expect(refused(changes, { entries: [entry(state, stage)] })).toEqual(
      kept ? ['config.placement_scriptlet'] : [],
    )
  })

  test('it may change for entries that it failed', () => {
    const blocked = { ...entry('blocked'), placementFailed: true }
    expect(refused(changes, { entries: [blocked] })).toEqual([])
    expect(refused(changes, { entries: [blocked, entry('waiting')] })).toHaveLength(1)
  })
})

test('windows are refused under the names of the request', () => {
  const held = new Map([['w', 1]])
  const windowsAfter = [{ ...sent, endsAt: 80 * minute, capacity: 1 }]
  expect(refused({}, { windowsAfter, held })).toEqual(['windows.0.end', 'windows.0.capacity'])
  expect(refused({}, { windowsAfter: [], held })).toEqual(['windows'])
  expect(refused({}, { windowsAfter, state: 'defined' })).toEqual([])
  expect(refused({}, { windowsAfter: [{ ...sent, startsAt: 95 * minute }], state: 'defined' })).toEqual([
    'windows.0.end',
  ])
})

test('every refusal says why, and until when', () => {
  const problems = checkBatchEdit({
    state: 'running',
    before: shape,
    after: {
      ...shape,
      name: 'x',
      constraints: [],
      config: { ...shape.config, placement_scriptlet: 'x' },
    },
    entries: [...committed, entry('waiting')],
    matches: () => true,
    now: 0,
    windowsBefore: [window],
    windowsAfter: [],
    held: new Map([['w', 1]]),
  })
  expect(problems.map(({ field }) => field)).toEqual([
    'name',
    'constraints',
    'constraints',
    'config.placement_scriptlet',
    'windows',
  ])
  for (const { message } of problems) expect(message).toMatch(/\.$/)
  expect(problems[0]?.message).toContain('Reset the batch')
  expect(problems[1]?.message).toContain('1 instance whose source is switched off')
})

describe('what a person may say about a batch', () => {
  test.each<[string, () => unknown, RegExp]>([
    ['two constraints of one name', () => batchConstraints.parse([constraints[0], constraints[0]]), /names/],
    [
      'a final limit longer than the interval',
      () => batchConfig.parse({ background_sync_interval: '5m' }),
      /longer/,
    ],
    ['an interval of nothing', () => batchConfig.parse({ background_sync_interval: '0s' }), /at least 1s/],
    ['a time that is none', () => batchConfig.parse({ boot_limit: 'soon' }), /90s, 10m/],
    [
      'an expression of blanks',
      () => batchConstraints.parse([{ name: 'a', include_expression: ' ' }]),
      /empty/,
    ],
    [
      'two networks for one target',
      () =>
        batchDefaults.parse({
          placement: { target: 'a' },
          migration_network: [
            { network: 'x', target: 'a' },
            { network: 'y', target: 'a' },
          ],
        }),
      /at most once/,
    ],
    ['a port that is none', () => batchProbes.parse([{ name: 'web', ports: [0] }]), /ports/],
    ['a moment that is none', () => batchWindows.parse([{ name: 'night', start: 'tonight' }]), /start/],
  ])('%s is refused', (_what, parse, message) => {
    expect(parse).toThrow(message)
  })

  test('the defaults are those that operators know', () => {
    expect(batchConfig.parse({})).toMatchObject({
      background_sync_interval: '10m',
      final_background_sync_limit: '10m',
      post_migration_retries: 5,
      rerun_scriptlets: false,
    })
  })
})
