import { describe, expect, test } from 'vitest'
import { forGuestToHear, nextPowerStep, type PowerProgress } from '../../../src/inventory/power/power-step.ts'
import { openLab } from '../../../src/platforms/lab/lab.ts'
import { addMigrated } from '../../api/inventory/inventory-rows.ts'
import { createInventoryWorker, eventsOf, instanceOf, makeSite } from '../../support/inventory.ts'
import { createLab } from '../../support/lab.ts'
import { addOne, effectsOf, jobOf } from '../../support/ledger.ts'
import { requestCancel } from '../../support/ledger-verbs.ts'
import { createDatabase } from '../../support/postgres.ts'

const { db } = await createDatabase()
const lab = await createLab()
await makeSite(db, {
  name: 'vc',
  endpoint: lab.endpoint('vcenter'),
  password: lab.password,
  connectivity: 'ok',
})
const worker = createInventoryWorker(db, openLab)
await worker.sync('vc')

const power = async (ref: string, payload: Record<string, unknown>, kind = 'power-instance') => {
  const { id } = await instanceOf(db, 'vc', ref)
  return worker.run(kind, { instance: id, ...payload })
}
/** Runs a job's turns until it has ended, or rests for another reason than the guest. */
const toTheEnd = async (id: string) => {
  for (let turns = 0; turns < 200; turns += 1) {
    const job = await jobOf(db, id)
    if (job.state !== 'waiting') return job
    await db`update job set state = 'ready', bell = 'due', wait_reason = null, wait_since = null, wait_until = null,
      wait_signal = null where id = ${id}::uuid`
    await worker.follow(id)
  }
  throw new Error(`Job ${id} did not end.`)
}
const stateOf = async (ref: string) => (await instanceOf(db, 'vc', ref)).facts.power_state

test('a machine is shut down, started, stopped and restarted, and its record says so at once', async () => {
  const steps = [
    ['shutdown', 'off'],
    ['start', 'on'],
    ['restart', 'on'],
    ['stop', 'off'],
    ['start', 'on'],
  ] as const
  for (const [verb, state] of steps) {
    const job = await toTheEnd(await power('vm-101', { verb }))
    expect([verb, job.state, job.result]).toEqual([
      verb,
      'succeeded',
      expect.objectContaining({ power_state: state }),
    ])
    expect(await stateOf('vm-101')).toBe(state)
  }
  const { id } = await instanceOf(db, 'vc', 'vm-101')
  expect((await eventsOf(db, id)).filter((type) => type === 'instance.changed').length).toBeGreaterThan(3)
})

test('what is already as asked is done without a call', async () => {
  const id = await power('vm-102', { verb: 'start' })
  expect(await toTheEnd(id)).toMatchObject({ state: 'succeeded' })
  expect(await effectsOf(db, id)).toEqual([])
})

test('a guest that does not go off is waited for, then it is a refusal, or the plug with force', async () => {
  await lab.admin('PATCH /lab/sites/vcenter/instances/vm-103', { shutdown: 'hangs' })
  const refused = await toTheEnd(await power('vm-103', { verb: 'shutdown', timeout_seconds: 6 }))
  expect(refused).toMatchObject({
    state: 'failed',
    error: { code: 'guest-keeps-running', class: 'conflict' },
  })
  expect(await stateOf('vm-103')).toBe('on')
  const forced = await toTheEnd(await power('vm-103', { verb: 'shutdown', timeout_seconds: 6, force: true }))
  expect(forced).toMatchObject({ state: 'succeeded' })
  expect(await stateOf('vm-103')).toBe('off')
})

test.each([
  ['frozen_by', 'wave-1', 'instance-frozen'],
  ['ignored', 'template', 'instance-ignored'],
  ['gone_at', new Date(0), 'instance-absent'],
] as const)('nothing is done to an instance with %s set to %s', async (column, value, code) => {
  const { id } = await instanceOf(db, 'vc', 'vm-104')
  await db`update instance set ${db({ [column]: value })} where id = ${id}::uuid`
  const job = await power('vm-104', { verb: 'stop' })
  await db`update instance set ${db({ [column]: null })} where id = ${id}::uuid`
  expect(await jobOf(db, job)).toMatchObject({ state: 'failed', error: { code } })
  expect(await effectsOf(db, job)).toEqual([])
})

test('a machine that was migrated stays off at its source, whoever asks', async () => {
  const { id } = await instanceOf(db, 'vc', 'vm-104')
  await toTheEnd(await power('vm-104', { verb: 'stop' }))
  await addMigrated(db, id, 'wave-9')
  const job = await power('vm-104', { verb: 'start' })
  await db`delete from entry where instance_id = ${id}::uuid`
  expect(await jobOf(db, job)).toMatchObject({ state: 'failed', error: { code: 'migrated' } })
})

test('of two jobs for one machine the later gives way, and none acts on what it does not name', async () => {
  const { id } = await instanceOf(db, 'vc', 'vm-104')
  const subject = { type: 'instance', id }
  const payload = { instance: id, verb: 'enable' }
  const earlier = await addOne(db, { kind: 'track-instance', subject, payload })
  const later = await power('vm-104', { verb: 'stop' })
  expect(await jobOf(db, later)).toMatchObject({
    state: 'failed',
    error: { code: 'instance-busy', message: expect.stringContaining(earlier) },
  })
  await requestCancel(db, earlier, { by: 'ann', reason: 'not now' })
  const unnamed = await addOne(db, { kind: 'power-instance', payload: { instance: id, verb: 'stop' } })
  await worker.follow(unnamed)
  expect(await jobOf(db, unnamed)).toMatchObject({ state: 'failed', error: { code: 'subject-differs' } })
  expect(await effectsOf(db, later)).toEqual([])
})

test('an answer that was lost after the effect is found again, and the machine is not switched twice', async () => {
  await lab.admin('POST /lab/faults', { kind: 'lost-answer', call: 'restart', times: 1, machine: 'vm-105' })
  const boot = async () => {
    const site = await lab.signIn('vcenter')
    return ((await site.call('GET /instances/vm-105/power')).json as { boot_id: string }).boot_id
  }
  const before = await boot()
  const id = await power('vm-105', { verb: 'restart', force: true })
  expect(await jobOf(db, id)).toMatchObject({ state: 'ready' })
  const after = await boot()
  expect(after).not.toBe(before)
  await worker.follow(id)
  expect(await toTheEnd(id)).toMatchObject({ state: 'succeeded' })
  expect(await boot()).toBe(after)
  expect(await effectsOf(db, id)).toHaveLength(1)
})

describe('tracking', () => {
  test('is switched on where it is off, and each disk is verified', async () => {
    const before = await instanceOf(db, 'vc', 'vm-209')
    expect(before.facts.background_import).toBe(false)
    const job = await toTheEnd(await power('vm-209', { verb: 'enable' }, 'track-instance'))
    expect([job.state, job.error]).toEqual(['succeeded', null])
    const after = await instanceOf(db, 'vc', 'vm-209')
    expect(after.facts.background_import).toBe(true)
    expect(Object.values(after.tracking).every((state) => state === 'verified')).toBe(true)
    expect(Object.keys(after.tracking)).toEqual(after.facts.disks.map((disk) => disk.key))
    const rules = await db<{ rule: string }[]>`select rule from finding where instance_id = ${after.id}::uuid`
    expect(rules.map(({ rule }) => rule).filter((rule) => rule.startsWith('tracking'))).toEqual([])
  })

  test('is looked at live by a reset, and refused where the source does not track', async () => {
    const job = await toTheEnd(await power('vm-101', { verb: 'reset' }, 'track-instance'))
    expect(job.result).toEqual({ tracking: { 2000: 'verified' } })
    await lab.admin('PATCH /lab/sites/vcenter/instances/vm-106', { facts: { background_import: false } })
    const refused = await toTheEnd(await power('vm-106', { verb: 'reset' }, 'track-instance'))
    expect(refused).toMatchObject({ state: 'failed', error: { code: 'tracking-off' } })
  })
})

const progress: PowerProgress = { steps: [], waitedMs: 0, bootId: '', deaf: false, wasReset: false }
const seen = (state: 'on' | 'off' | 'suspended', boot = 'b1') => ({ state, host: 'h', boot_id: boot })
const asked = { verb: 'restart' as const, force: false, timeoutMs: 10_000, booting: false }

test('a restart gives the guest its time, then starts it; with force it is one reset', () => {
  expect(nextPowerStep(asked, progress, seen('on'))).toEqual({ type: 'act', step: 'shutdown' })
  const asked1 = { ...progress, steps: ['shutdown' as const] }
  expect(nextPowerStep(asked, asked1, seen('on')).type).toBe('wait')
  expect(nextPowerStep(asked, { ...asked1, waitedMs: 10_000 }, seen('on')).type).toBe('refuse')
  expect(nextPowerStep(asked, asked1, seen('off'))).toEqual({ type: 'act', step: 'start' })
  expect(nextPowerStep(asked, { ...asked1, steps: ['shutdown', 'start'] }, seen('on'))).toEqual({
    type: 'done',
  })
  const forced = { ...asked, force: true }
  expect(nextPowerStep(forced, progress, seen('on'))).toEqual({ type: 'act', step: 'reset' })
  const reset = { ...progress, steps: ['reset' as const], bootId: 'b1' }
  expect(nextPowerStep(forced, reset, seen('on', 'b1')).type).toBe('wait')
  expect(nextPowerStep(forced, reset, seen('on', 'b2'))).toEqual({ type: 'done' })
  const said = { ...reset, wasReset: true }
  expect(nextPowerStep(forced, said, seen('on', 'b1'))).toEqual({ type: 'done' })
  expect(nextPowerStep(forced, said, seen('off', 'b1')).type).toBe('wait')
})

test('a guest that cannot be asked is not waited for', () => {
  const deaf = { ...progress, steps: ['shutdown' as const], deaf: true }
  const shutdown = { ...asked, verb: 'shutdown' as const }
  expect(nextPowerStep(shutdown, deaf, seen('on'))).toMatchObject({
    type: 'refuse',
    code: 'guest-keeps-running',
  })
  expect(nextPowerStep({ ...shutdown, force: true }, deaf, seen('on'))).toEqual({ type: 'act', step: 'stop' })
  expect(nextPowerStep(shutdown, progress, seen('suspended'))).toMatchObject({ code: 'guest-suspended' })
})

test('a guest that is about to come up is asked again, as long as there is time', () => {
  const deaf = { ...progress, steps: ['shutdown' as const], deaf: true }
  const booting = { ...asked, verb: 'shutdown' as const, booting: true }
  expect(nextPowerStep(booting, deaf, seen('on'))).toEqual({ type: 'wait', forWhat: forGuestToHear })
  expect(nextPowerStep(booting, { ...deaf, waitedMs: 10_000 }, seen('on')).type).toBe('refuse')
  expect(nextPowerStep({ ...booting, force: true }, deaf, seen('on'))).toEqual({ type: 'act', step: 'stop' })
})
