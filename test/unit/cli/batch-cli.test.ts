import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startApi } from '../../support/stub-api.ts'
import { tempDir } from '../../support/temp.ts'

const batchOf = (state: string, entries: Record<string, number>) => ({
  name: 'wave-1',
  state,
  entries,
  progress: { bytes_done: 1, bytes_total: 2, bytes_per_second: 0, eta_seconds: null },
})

test('a batch is watched while it is blocked, and ends well when the block has healed', async () => {
  const { run, asked } = await startApi((_, nth) =>
    nth === 1 ? batchOf('running', { finished: 1, blocked: 1 }) : batchOf('finished', { finished: 2 }),
  )
  const watched = await run('batches', 'watch', 'wave-1')
  expect(watched).toMatchObject({ code: 0, stdout: expect.stringContaining('2 finished') })
  expect(watched.stderr).toContain('What is left is blocked (1)')
  expect(asked).toHaveLength(2)
})

test('whoever cannot wait for a block ends with it, and a conflict ends every watch', async () => {
  const blocked = await startApi(() => batchOf('running', { finished: 1, blocked: 1 }))
  const ended = await blocked.run('batches', 'watch', 'wave-1', '--until-blocked')
  expect(ended).toMatchObject({ code: 1, stdout: expect.stringContaining('--state blocked') })
  const conflict = await startApi(() => batchOf('running', { finished: 1, conflict: 1 }))
  expect(await conflict.run('batches', 'watch', 'wave-1')).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('--state conflict'),
  })
})

test('a start that came to no end is told, and nobody follows what there is of it', async () => {
  const error = { message: 'Postgres is full.', remedy: 'Make room.' }
  const failed = await startApi(({ path }) =>
    path.endsWith(':start') ? { job_id: 'j1' } : { id: 'j1', state: 'failed', error },
  )
  const started = await failed.run('batches', 'start', 'wave-1', '--wait')
  expect(started.code).toBe(1)
  expect(started.stdout).toMatch(/error +Postgres is full\.[\s\S]*remedy +Make room\./)
  expect(failed.asked.map(({ path }) => path)).toEqual(['/v1/batches/wave-1/:start', '/v1/jobs/j1'])
  const message = 'Its start was cancelled.'
  const stands = await startApi(() => ({ ...batchOf('error', {}), message }))
  expect(await stands.run('batches', 'watch', 'wave-1')).toMatchObject({
    code: 1,
    stdout: expect.stringContaining(message),
  })
})

test('a file with one setting of many changes that one alone', async () => {
  const kept = {
    name: 'wave-1',
    include_expression: 'true',
    defaults: { placement: { target: 'oslo', storage_pool: 'fast' }, force_conflict_resolution: true },
    config: { sync_limit: 3, boot_limit: '9m', instance_restriction_overrides: { allow_no_ipv4: true } },
    migration_windows: [{ name: 'night', start: null, end: null, lockout: null, capacity: 1 }],
    constraints: [{ name: 'one', max_concurrent_instances: 1 }],
    probes: [],
    require_approval: true,
  }
  const { run, asked } = await startApi(() => ({
    ...kept,
    state: 'defined',
    migration_windows: kept.migration_windows.map((window) => ({ ...window, held: 0 })),
  }))
  const file = join(await tempDir(), 'change.json')
  writeFileSync(
    file,
    JSON.stringify({
      defaults: { placement: { storage_pool: 'slow' } },
      config: { sync_limit: 5, boot_limit: null },
      constraints: [],
    }),
  )
  expect(await run('batches', 'set', 'wave-1', '--file', file)).toMatchObject({ code: 0 })
  expect(asked.at(-1)).toMatchObject({ method: 'PUT', path: '/v1/batches/wave-1' })
  expect(asked.at(-1)?.body).toEqual({
    ...kept,
    defaults: { placement: { target: 'oslo', storage_pool: 'slow' }, force_conflict_resolution: true },
    config: { sync_limit: 5, instance_restriction_overrides: { allow_no_ipv4: true } },
    constraints: [],
  })
})

test('an entry is shown with what a person needs: remedies, the wait, the wish, and what is off or left', async () => {
  const { run } = await startApi(() => ({
    ...{ id: 'one', name: 'web-1', batch: 'wave-1', source: 'paris', target: 'oslo', stage: 'complete' },
    ...{
      state: 'canceled',
      message: 'It was given up.',
      ends_when: 'A person tries it again.',
      remedy: 'Try.',
    },
    reasons: [{ code: 'pool-full', message: 'Full.', remedy: 'Free room.' }],
    error: { code: 'checks-failed', message: 'The agent is silent.', remedy: 'Mend it.' },
    wait: { reason: 'token', detail: 'waits for oslo', ends_when: 'A slot is free.' },
    intent: { verb: 'cancel', force: true, cleanup: true },
    source_stopped_at: '2026-11-18T20:00:00.000Z',
    down: {
      shutdown: null,
      times: 'since 2026-11-18 20:00 UTC, no end is set',
      because: 'It is to be on again.',
    },
    target_machine: 'vm-77',
    effects: { open: 0, debts: 0 },
    choices: [
      { verb: 'cancel', force: false, cleanup: true, does: 'What was made of it is destroyed.' },
      { verb: 'retry', force: false, cleanup: false, does: 'Everything is checked anew.' },
    ],
  }))
  const { stdout } = await run('queue', 'show', 'one')
  for (const words of [
    /ends when +A person tries it again/,
    /remedy pool-full +Free room/,
    /error +checks-failed: The agent is silent/,
    /error remedy +Mend it/,
    /job waits +token: waits for oslo/,
    /until +A slot is free/,
    /wanted +cancel, forced, with cleanup/,
    /state +canceled, stage complete\nsource off +since 2026-11-18 20:00 UTC, no end is set\noff because +It is to be/,
    /target machine +vm-77/,
    /you can cancel --cleanup +What was made of it is destroyed\./,
    /you can retry +Everything is checked anew\./,
  ])
    expect(stdout).toMatch(words)
})

test('an entry whose guest takes its time is not called off', async () => {
  const times =
    'asked to shut down at 2026-11-18 20:00 UTC, still running, forced off at 2026-11-18 20:05 UTC'
  const { run } = await startApi(() => ({
    ...{ id: 'one', name: 'web-1', state: 'final-import', stage: 'final', effects: { open: 1, debts: 0 } },
    down: { shutdown: { end: 'forced' }, times, because: 'Its source still runs.' },
  }))
  const { stdout } = await run('queue', 'show', 'one')
  expect(stdout).toMatch(new RegExp(`\nsource +${times}\nthen +Its source still runs\\.`))
  expect(stdout).not.toContain('source off')
})

test('a verb for more than one request may do goes on with the cursor until all are done', async () => {
  const item = (id: string) => ({ id, outcome: 'done', code: null, message: null })
  const { run, asked } = await startApi((_, nth) =>
    nth === 1
      ? { matched: 3, left: 1, next_cursor: 'next', items: [item('one'), item('two')] }
      : { matched: 1, left: 0, next_cursor: null, items: [item('three')] },
  )
  const line = ['queue', 'cancel', '--filter', 'name == "x"', '--ids', 'one,two, three', '--confirm', '3']
  expect(await run(...line)).toMatchObject({ code: 0, stdout: expect.stringContaining('3 of 3 entries') })
  expect(asked.map(({ body }) => [body.confirm_count, body.cursor])).toEqual([
    [3, undefined],
    [1, 'next'],
  ])
  expect(asked[0]?.body).toMatchObject({ filter: 'name == "x"', ids: ['one', 'two', 'three'] })
})

test('a plan is shown with all its instances, those of one standing, and what it does not list', async () => {
  const item = (name: string) => ({ name, standing: 'goes', placement: null, reasons: [], bytes: 1 })
  const { run, asked } = await startApi(({ query }) => ({
    ...{ id: 'p1', digest: 'd', planned_at: 'now', approved: null, items_left_out: 7 },
    totals: {
      ...{ goes: 2, blocked: 0, conflict: 0, on_its_way: 3, in_other_batch: 0 },
      ...{ bytes: 2, copy_ms: null, forecast_note: '', without_window: 0, tokens: {} },
    },
    diff: { since: 'then', added: ['web-9'], removed: [], changed: [], more: 4 },
    items: [item(query.get('cursor') === 'next' ? 'web-2' : 'web-1')],
    next_cursor: query.get('cursor') === 'next' ? null : 'next',
  }))
  const one = await run('batches', 'plan-show', 'wave-1', 'p1')
  expect(one.stdout).toMatch(/instances +2 go, 0 blocked, 0 in conflict, 3 on the way already/)
  expect(one.stdout).toMatch(/and more +4 that are not listed/)
  expect(one.stderr).toContain('7 instances are counted')
  expect(one.stderr).toContain('--cursor next')
  const all = await run('batches', 'plan-show', 'wave-1', 'p1', '--all', '--standing', 'goes', '--limit', '1')
  expect(all.stdout).toMatch(/web-1 /)
  expect(all.stdout).toMatch(/web-2 /)
  expect(asked.map(({ query }) => [query.get('cursor'), query.get('standing'), query.get('limit')])).toEqual([
    [null, null, '200'],
    [null, 'goes', '1'],
    ['next', 'goes', '1'],
  ])
})

const instance = {
  id: 'i1',
  name: 'web-1',
  ref: 'vm-1',
  source: 'paris',
  location: '/Paris/vm/shop',
  frozen_by: null,
  effective: { nics: [{ ipv4_addresses: ['10.0.0.7'], ipv6_addresses: [] }] },
}

test.each(['shutdown', 'stop', 'restart'])(
  'a source is not switched (%s) before a person has read what that means, or said --yes',
  async (verb) => {
    const { run, typing, asked } = await startApi(({ method }) =>
      method === 'GET' ? instance : { id: 'j1', existing: false },
    )
    const posts = () => asked.filter(({ method }) => method === 'POST').map(({ body }) => body.verb)
    const script = await run('instances', 'power', 'i1', verb)
    expect(script.code).toBe(2)
    expect(script.stderr).toMatch(/web-1 \(paris, \/Paris\/vm\/shop\).*10\.0\.0\.7.*[\s\S]*Add --yes/)
    const no = await typing('n\n', 'instances', 'power', 'i1', verb)
    expect(no).toMatchObject({ code: 2, stderr: expect.stringContaining('Nothing was done.') })
    expect(posts()).toEqual([])
    expect((await typing('y\n', 'instances', 'power', 'i1', verb)).code).toBe(0)
    expect((await run('instances', 'power', 'i1', verb, '--yes')).code).toBe(0)
    expect(posts()).toEqual([verb, verb])
  },
)

test('a start is not asked about, and a reset of the tracking neither', async () => {
  const { run, asked } = await startApi(({ method }) =>
    method === 'GET' ? instance : { id: 'j1', existing: false },
  )
  expect((await run('instances', 'power', 'i1', 'start')).code).toBe(0)
  expect((await run('instances', 'track', 'i1', '--reset')).code).toBe(0)
  const tracks = await run('instances', 'track', 'i1')
  expect(tracks).toMatchObject({ code: 2, stderr: expect.stringContaining('may have to be switched off') })
  expect(asked.filter(({ method }) => method === 'POST')).toHaveLength(2)
})

const down = {
  count: 1,
  message: '1 machine is off for its migration: web-1 (since 12:00, until 14:00 at the latest).',
  entries: [{ id: 'e1', instance: 'web-1', because: 'Its batch is stopped.' }],
}

// promise: off-said-first
test('a stop says who stays off, before and after; a script is told and not held up', async () => {
  const { run, typing, asked } = await startApi(() => ({ ...batchOf('stopped', {}), down }))
  const posts = () => asked.filter(({ method }) => method === 'POST').length
  const no = await typing('\n', 'batches', 'stop', 'wave-1')
  expect(no.stderr).toMatch(/web-1 \(since 12:00[\s\S]*it stays off until its window ends[\s\S]*Go on\?/)
  expect([no.code, posts()]).toEqual([2, 0])
  const script = await run('batches', 'stop', 'wave-1')
  expect(script).toMatchObject({ code: 0, stdout: expect.stringContaining(down.message) })
  expect(posts()).toBe(1)
})

test.each([
  [{ finished: 12 }, undefined],
  [
    { finished: 2, canceled: 1 },
    '1 entry of wave-1 that has not finished goes, with its copy on the target.',
  ],
  [{ idle: 2, error: 1 }, '3 entries of wave-1 that have not finished go, with their copies on the target.'],
])(
  'a person who resets a batch reads that only what has not finished goes with its copy: %j',
  async (counts, words) => {
    const calm = { count: 0, message: '', entries: [] }
    const { run, typing, asked } = await startApi(({ method }) => {
      const batch = { ...batchOf('stopped', counts), down: calm }
      return method === 'GET' ? batch : { batch, entries: 1 }
    })
    const posts = () => asked.filter(({ method }) => method === 'POST').length
    const no = await typing('n\n', 'batches', 'reset', 'wave-1')
    expect(no.stderr.includes('Go on?')).toBe(words !== undefined)
    if (words !== undefined) expect(no.stderr).toContain(words)
    expect(posts()).toBe(words === undefined ? 1 : 0)
    expect((await run('batches', 'reset', 'wave-1')).code).toBe(0)
  },
)

test('a batch is shown with who is off before all else', async () => {
  const { run } = await startApi(() => ({ ...batchOf('stopped', {}), down, approval: null }))
  const { stdout } = await run('batches', 'show', 'wave-1')
  expect(stdout).toMatch(/state +stopped\noff now +1 machine is off[^\n]*\noff web-1 +Its batch is stopped\./)
})

test('a person reads what a verb does to an entry before it is done; a script goes on', async () => {
  const entry = {
    name: 'web-1',
    state: 'waiting',
    message: 'x',
    choices: [
      { verb: 'resolve', force: false, cleanup: false, does: 'Its source is switched off at 14:00.' },
      { verb: 'cancel', force: false, cleanup: false, does: 'It stays.' },
      { verb: 'cancel', force: false, cleanup: true, does: 'It is destroyed.' },
    ],
  }
  const { run, typing, asked } = await startApi(({ method }) =>
    method === 'GET' ? entry : { outcome: 'done', entry },
  )
  const posts = () => asked.filter(({ method }) => method === 'POST').length
  const no = await typing('n\n', 'queue', 'resolve', 'one')
  expect(no.stderr).toContain('resolve web-1: Its source is switched off at 14:00.')
  const gone = await typing('no\n', 'queue', 'cancel', 'one', '--cleanup')
  expect(gone.stderr).toContain('cancel web-1: It is destroyed.')
  expect([no.code, gone.code, posts()]).toEqual([2, 2, 0])
  expect((await typing('y\n', 'queue', 'resolve', 'one')).code).toBe(0)
  expect((await run('queue', 'resolve', 'one')).code).toBe(0)
  expect(posts()).toBe(2)
})
