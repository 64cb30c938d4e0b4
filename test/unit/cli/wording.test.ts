import { expect, test } from 'vitest'
import { many, saidBeside } from '../../../src/domain/text/sentence.ts'
import { startApi } from '../../support/stub-api.ts'

test('one is not many', () => {
  expect(many(1, 'machine')).toBe('1 machine')
  expect(many(0, 'machine')).toBe('0 machines')
  expect(many(1, 'of its sources is', 'of its sources are')).toBe('1 of its sources is')
})

test('settings of a batch are lines, and no JSON that nobody asked for', async () => {
  const { run } = await startApi(() => ({
    ...{ name: 'wave-1', state: 'defined', entries: {}, matched: 2, down: { count: 0, entries: [] } },
    progress: { bytes_done: 0, bytes_total: 0, bytes_per_second: 0, eta_seconds: null },
    defaults: { placement: { target: 'oslo', 'a\u001b[2J': 1 }, networks: {} },
    config: { guest_shutdown_limit: '5m' },
    probes: [{ name: 'ssh', ports: [22, 80] }],
  }))
  const { stdout } = await run('batches', 'show', 'wave-1')
  for (const line of [
    /^defaults placement target +oslo$/m,
    /^defaults networks +-$/m,
    /^config guest_shutdown_limit +5m$/m,
    /^probes 1 name +ssh$/m,
    /^probes 1 ports +22, 80$/m,
  ])
    expect(stdout).toMatch(line)
  expect(stdout).not.toMatch(/[{}"]/)
  expect(stdout).not.toContain('\u001b')
})

test('jobs are listed with what they are about', async () => {
  const subject = { type: 'entry', id: 'one' }
  const job = {
    id: 'j1',
    kind: 'final-verify',
    state: 'ready',
    lane: 'batch/wave-1',
    subject,
    created_at: null,
  }
  const { run } = await startApi(() => ({ items: [job], next_cursor: null }))
  const { stdout } = await run('jobs', 'list')
  expect(stdout).toMatch(/SUBJECT/)
  expect(stdout).toContain('entry/one')
})

test('a refusal names the option that was typed, and not the field that the API has for it', async () => {
  const errors = [
    { field: 'params.snapshot', message: 'is missing' },
    { field: 'deadline_seconds', message: 'must be 1 or more' },
    { field: 'machine', message: 'is not known' },
  ]
  const detail = 'params.snapshot: is missing. And 2 more.'
  const { run } = await startApi(
    () => ({ detail, code: 'validation-failed', remedy: 'Correct it.', errors }),
    422,
  )
  const { code, stderr } = await run('restore', '0199c0de-0000-7000-8000-000000000000')
  expect(code).toBe(1)
  expect(stderr).toMatch(/^--snapshot: is missing\. And 2 more\./)
  expect(stderr).toContain('  --deadline: must be 1 or more')
  expect(stderr).toContain('  machine: is not known')
  expect(stderr).not.toContain('params.')
})

test('reasons without a field are lines of their own, and none is said twice', async () => {
  const errors = ['It runs at oslo.', 'the batch wave-1 holds it'].map((message) => ({ field: '', message }))
  const { run } = await startApi(
    () => ({ detail: 'It runs at oslo.', code: 'vm-would-run-twice', remedy: 'Wait for that.', errors }),
    409,
  )
  const { stderr } = await run('restart', 'web-1', '--yes')
  expect(stderr.split('\n').slice(0, 3)).toEqual([
    'It runs at oslo. (vm-would-run-twice)',
    '  the batch wave-1 holds it',
    'Wait for that.',
  ])
})

test('what is listed with a refusal is not dropped because another field is wrong in the same words', () => {
  const errors = ['kind', 'name'].map((field) => ({ field, message: 'Required' }))
  expect(saidBeside('kind: Required. And 1 more.', errors)).toEqual(['name: Required'])
  expect(saidBeside('Required', errors.slice(0, 1))).toEqual([])
})
