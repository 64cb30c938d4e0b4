import { expect, test } from 'vitest'
import { openLab } from '../../src/platforms/lab/lab.ts'
import type { Connection } from '../../src/platforms/ports/connection.ts'
import type { InventoryItem, Scan } from '../../src/platforms/ports/inventory.ts'
import { type Platform, portOf } from '../../src/platforms/ports/ports.ts'
import { atEnd } from '../support/cleanup.ts'
import { createLab, type TestLab } from '../support/lab.ts'
import { until } from '../support/wait.ts'
import { callOf, done, expectError, newName, present } from './platform-suite/world.ts'

const open = (lab: TestLab, over: Partial<Connection> = {}): Platform => {
  const platform = openLab({
    kind: 'lab',
    endpoint: lab.endpoint('vcenter'),
    username: 'drover',
    password: lab.password,
    ca: '',
    fingerprint: '',
    caller: 'faults',
    connectTimeoutMs: 10_000,
    ...over,
  })
  atEnd(() => platform.close())
  return platform
}

const fault = async (lab: TestLab, rule: Record<string, unknown>): Promise<void> => {
  expect((await lab.admin('POST /lab/faults', rule)).status).toBe(201)
}

const act = async (lab: TestLab, what: Record<string, unknown>): Promise<void> => {
  expect((await lab.admin('POST /lab/acts', what)).status).toBe(204)
}

const options = { scopes: [], concurrency: 4, itemTimeoutMs: 20_000 }

const readAll = async (scan: Scan): Promise<InventoryItem[]> => {
  const items: InventoryItem[] = []
  for await (const batch of scan) items.push(...batch)
  return items
}

const instanceRefs = (items: readonly InventoryItem[]): string[] =>
  items.flatMap((item) => (item.type === 'instance' ? [item.facts.ref] : [])).sort()

test('answers that no client should trust end a reading with a typed error, in time', async () => {
  const lab = await createLab()
  for (const [shape, code] of [
    ['huge', 'platform-answer-invalid'],
    ['html', 'platform-answer-invalid'],
    ['not-json', 'platform-answer-invalid'],
    ['redirect', 'platform-redirects'],
    ['cut', 'platform-unreachable'],
    ['drip', 'platform-timeout'],
  ] as const) {
    await fault(lab, { kind: 'answer', shape, call: ['inventory', 'about'] })
    const platform = open(lab)
    const timeoutMs = shape === 'drip' ? 1_000 : 60_000
    const reading = readAll(portOf(platform, 'inventory').scan(callOf({ timeoutMs }), options))
    expect((await expectError(reading, { code })).message, shape).not.toContain(lab.password)
    await expectError(platform.probe(callOf({ timeoutMs })), { code })
    await lab.admin('DELETE /lab/faults')
  }
})

test('a call that makes no progress ends long before its deadline, when its caller has no more patience', async () => {
  const lab = await createLab()
  const power = portOf(open(lab), 'power')
  await present(power.power(callOf(), 'vm-101'))
  await fault(lab, { kind: 'stall', call: 'power' })
  const asked = power.power({ ...callOf({ timeoutMs: 600_000 }), stallMs: 200 }, 'vm-101')
  const error = await expectError(asked, { code: 'platform-timeout', failure: 'unknown' })
  expect(error.message).toContain('did not begin its answer within 200 ms')
})

test('an answer lost after the effect: the task is found by its name, and asked for again it is the same', async () => {
  const lab = await createLab()
  const power = portOf(open(lab), 'power')
  await done(power.stop(callOf(), 'vm-101'))
  await fault(lab, { kind: 'lost-answer', call: 'start', machine: 'vm-101', times: 1 })
  const name = newName('start')
  await expectError(power.start(callOf({ name }), 'vm-101'), {
    code: 'platform-unreachable',
    failure: 'unknown',
  })
  const after = portOf(open(lab), 'power')
  const found = await present(after.findTask(callOf(), { name, machine: 'vm-101' }))
  await found.wait(callOf())
  const running = await present(after.power(callOf(), 'vm-101'))
  expect(running.state).toBe('on')
  expect((await after.start(callOf({ name }), 'vm-101')).id).toBe(found.id)
  expect(await present(after.power(callOf(), 'vm-101'))).toEqual(running)
})

test('one machine that stalls is a problem of its own after its own time, and the others come', async () => {
  const lab = await createLab()
  const inventory = portOf(open(lab), 'inventory')
  const whole = instanceRefs(await readAll(inventory.scan(callOf(), options)))
  expect(whole).toContain('vm-101')
  await fault(lab, { kind: 'stall', call: 'instance', machine: 'vm-101' })
  const items = await readAll(inventory.scan(callOf(), { ...options, itemTimeoutMs: 300 }))
  expect(instanceRefs(items)).toEqual(whole.filter((ref) => ref !== 'vm-101'))
  expect(items.filter(({ type }) => type === 'problem')).toMatchObject([
    {
      of: 'instance',
      ref: 'vm-101',
      name: 'web-01',
      error: { code: 'platform-timeout', failure: 'unknown' },
    },
  ])
})

test('machines of a host that does not answer are unknown, never absent', async () => {
  const lab = await createLab()
  const platform = open(lab)
  const inventory = portOf(platform, 'inventory')
  const all = await readAll(inventory.scan(callOf(), options))
  const on = all.flatMap((item) =>
    item.type === 'instance' && item.facts.host === 'esx-01.lab' && item.facts.running
      ? [item.facts.ref]
      : [],
  )
  await act(lab, { act: 'host-dead', site: 'vcenter', host: 'host-11', mode: 'partition' })
  const items = await readAll(inventory.scan(callOf(), options))
  const problems = items.flatMap((item) => (item.type === 'problem' ? [item.ref] : []))
  expect(on.length).toBeGreaterThan(0)
  expect(problems).toEqual(expect.arrayContaining(on))
  const unreachable = { code: 'platform-unreachable', failure: 'unknown' } as const
  const [first = ''] = on
  await expectError(inventory.instance(callOf(), first), unreachable)
  await expectError(portOf(platform, 'power').power(callOf(), first), unreachable)
  await expectError(portOf(platform, 'power').stop(callOf(), first), unreachable)
})

test('a session that is lost between two pages is renewed, and the reading is whole', async () => {
  const lab = await createLab({ world: 'large', machines: 600 })
  const site = new URL(lab.endpoint('x')).origin
  const { json } = await lab.admin('GET /lab/world')
  const name = (json as { sites: { name: string; kind: string }[] }).sites.find(
    ({ kind }) => kind === 'source',
  )?.name
  const endpoint = `${site}/sites/${name}`
  const inventory = portOf(open(lab, { endpoint }), 'inventory')
  await fault(lab, {
    kind: 'act',
    call: 'inventory',
    skip: 1,
    times: 1,
    do: { act: 'session-loss', site: name },
  })
  const refs = instanceRefs(await readAll(inventory.scan(callOf(), options)))
  expect(refs.length).toBe(600)
  expect(new Set(refs).size).toBe(600)
})

test('a password that was changed is named as that, and no secret is told', async () => {
  const lab = await createLab()
  const platform = open(lab)
  await platform.probe(callOf())
  await act(lab, { act: 'password-change', site: 'vcenter', password: 'planted-new-secret' })
  const error = await expectError(platform.probe(callOf()), {
    code: 'platform-authentication',
    failure: 'refused',
  })
  const told = JSON.stringify([error.message, error.remedy, error.detail, String(error.cause)])
  for (const secret of ['planted-new-secret', lab.password]) expect(told).not.toContain(secret)
  await open(lab, { password: 'planted-new-secret' }).probe(callOf())
})

test('whoever waits for a task bears a few failed looks, and not many', async () => {
  const lab = await createLab()
  const power = portOf(open(lab), 'power')
  await fault(lab, { kind: 'error', call: 'task', code: 'platform-overloaded', times: 3 })
  await done(power.stop(callOf(), 'vm-101'))
  await fault(lab, { kind: 'error', call: 'task', code: 'platform-overloaded' })
  await expectError(done(power.start(callOf(), 'vm-101')), {
    code: 'platform-overloaded',
    failure: 'unknown',
  })
  await lab.admin('DELETE /lab/faults')
  expect(await present(power.power(callOf(), 'vm-101'))).toMatchObject({ state: 'on' })
})

test('progress is told while a task runs, and never goes back', async () => {
  const lab = await createLab({ pace: 100 })
  const power = portOf(open(lab), 'power')
  const task = await power.stop(callOf(), 'vm-101')
  const seen: number[] = []
  const waiting = task.wait(callOf(), (percent) => seen.push(percent))
  await until(() => seen.length > 0, { what: 'the first percent' })
  await lab.pass(20_000)
  await until(() => seen.length > 1, { what: 'more percents', withinMs: 30_000 })
  await lab.pass(1_000_000)
  await waiting
  expect(seen).toEqual([...seen].sort((a, b) => a - b))
  expect(seen.at(-1)).toBe(100)
})

test('an intent whose task failed can be tried again under its name', async () => {
  const lab = await createLab({ pace: 1 })
  const machines = portOf(open(lab), 'machines')
  const name = newName('rename')
  const first = await machines.rename(callOf(), 'vm-101', 'the-one-name')
  const second = await machines.rename(callOf({ name }), 'vm-102', 'the-one-name')
  await lab.pass(60_000)
  await first.wait(callOf())
  await expectError(second.wait(callOf()), { code: 'platform-name-taken', failure: 'refused' })
  const away = await machines.rename(callOf(), 'vm-101', 'another-name')
  await lab.pass(60_000)
  await away.wait(callOf())
  const again = await machines.rename(callOf({ name }), 'vm-102', 'the-one-name')
  expect(again.id).not.toBe(second.id)
  await lab.pass(60_000)
  await again.wait(callOf())
})
