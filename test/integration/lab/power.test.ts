import { expect, test } from 'vitest'
import type { WireTask } from '../../../src/platforms/lab/protocol.ts'
import { createLab, type SiteClient } from '../../support/lab.ts'

interface Guest {
  readonly agent: string
  readonly hostname: string
  readonly boot_id: string
  readonly counter: number | null
}

const guestOf = async (site: SiteClient, ref: string) =>
  (await site.call(`GET /instances/${ref}/guest`)).json as Guest
const powerOf = async (site: SiteClient, ref: string) =>
  (await site.call(`GET /instances/${ref}/power`)).json as { state: string; host: string; boot_id: string }
const verb = (name: string) => ({ verb: name })

test('a machine that was stopped and started has another boot id, and its guest counts from the start', async () => {
  const lab = await createLab()
  const site = await lab.signIn('vcenter')
  await lab.pass(3_600_000)
  const before = await guestOf(site, 'vm-101')
  expect(before.counter).toBeGreaterThanOrEqual(36_000)
  await site.done('POST /instances/vm-101/power', verb('stop'))
  expect(await powerOf(site, 'vm-101')).toMatchObject({ state: 'off', boot_id: '' })
  expect(await guestOf(site, 'vm-101')).toMatchObject({ agent: 'unknown', counter: null })
  expect(await site.done('POST /instances/vm-101/power', verb('start'))).toMatchObject({ state: 'succeeded' })
  const after = await guestOf(site, 'vm-101')
  expect(after.boot_id).not.toBe(before.boot_id)
  expect(after.counter).toBeLessThan(36_000)
  expect(after).toMatchObject({ agent: 'running', hostname: 'web-01' })
})

test('a suspended guest goes on where it stopped, in another run of the same boot', async () => {
  const lab = await createLab()
  const site = await lab.signIn('vcenter')
  await lab.pass(600_000)
  const [guest, run] = [await guestOf(site, 'vm-102'), await powerOf(site, 'vm-102')]
  await site.done('POST /instances/vm-102/power', verb('suspend'))
  await lab.pass(86_400_000)
  await site.done('POST /instances/vm-102/power', verb('start'))
  const after = await guestOf(site, 'vm-102')
  expect(after.boot_id).toBe(guest.boot_id)
  expect(after.counter).toBeGreaterThanOrEqual(guest.counter ?? Number.NaN)
  expect(after.counter).toBeLessThan(864_000)
  expect((await powerOf(site, 'vm-102')).boot_id).not.toBe(run.boot_id)
})

test('a task takes its time, its machine is busy until then, and a restart of the lab loses none of it', async () => {
  const lab = await createLab({ pace: 1_000 })
  const site = await lab.signIn('vcenter')
  const begun = (await site.call('POST /instances/vm-101/power', verb('stop'))).json as WireTask
  expect(begun).toMatchObject({ state: 'running', machine: 'vm-101', kind: 'stop' })
  const refused = await site.call('POST /instances/vm-101/power', verb('stop'))
  expect([refused.status, refused.json]).toEqual([409, expect.objectContaining({ code: 'platform-busy' })])
  await lab.restart()
  expect((await site.call(`GET /tasks/${begun.id}`)).json).toMatchObject({ state: 'running' })
  expect((await powerOf(site, 'vm-101')).state).toBe('on')
  await lab.pass(400_000)
  await lab.restart()
  expect((await site.call(`GET /tasks/${begun.id}`)).json).toMatchObject({ state: 'succeeded', percent: 100 })
  expect((await powerOf(site, 'vm-101')).state).toBe('off')
})

test('a guest that is asked to go down does so in its own time; one that hangs stays until the plug is pulled', async () => {
  const lab = await createLab({ pace: 1_000 })
  const site = await lab.signIn('vcenter')
  for (const ref of ['vm-101', 'vm-210'])
    expect((await site.call(`POST /instances/${ref}/power`, verb('shutdown'))).status).toBe(202)
  await lab.pass(100_000)
  expect((await powerOf(site, 'vm-101')).state).toBe('on')
  await lab.pass(2_000_000)
  expect((await powerOf(site, 'vm-101')).state).toBe('off')
  expect((await powerOf(site, 'vm-210')).state).toBe('on')
  await site.call('POST /instances/vm-210/power', verb('stop'))
  await lab.pass(400_000)
  expect((await powerOf(site, 'vm-210')).state).toBe('off')
})

test('what does not fit the state is refused: a start of what runs, a shutdown without an agent', async () => {
  const lab = await createLab()
  const site = await lab.signIn('vcenter')
  const codes = async (ref: string, name: string) =>
    ((await site.call(`POST /instances/${ref}/power`, verb(name))).json as { code: string }).code
  expect(await codes('vm-101', 'start')).toBe('platform-wrong-state')
  expect(await codes('vm-112', 'stop')).toBe('platform-wrong-state')
  expect(await codes('vm-204', 'shutdown')).toBe('platform-refused')
  expect(await codes('vm-999', 'start')).toBe('platform-absent')
  expect(await codes('vm-101', 'explode')).toBe('platform-refused')
  const running = await site.call('DELETE /instances/vm-101')
  expect([running.status, running.json]).toEqual([409, expect.objectContaining({ failure: 'refused' })])
})

const newMachine = (name: string, memoryGib: number) => ({
  name,
  project: '',
  host: '',
  folder: '',
  cpus: 1,
  memory: memoryGib * 1024 ** 3,
  uuid: '',
  legacy_boot: false,
  secure_boot: false,
  nics: [],
  disks: [],
  owner: {},
})

test('a host takes no more than it has: promises count too, and a full one or a dead one takes nothing', async () => {
  const lab = await createLab({ pace: 1 })
  const site = await lab.signIn('cloud')
  const make = async (name: string, memoryGib: number) =>
    (await site.done('POST /instances', newMachine(name, memoryGib))).result ?? ''
  const refs = [
    await make('big-1', 200),
    await make('big-2', 200),
    await make('big-3', 200),
    await make('big-4', 200),
  ]
  const begun = await Promise.all(refs.map((ref) => site.call(`POST /instances/${ref}/power`, verb('start'))))
  expect(begun.map(({ status }) => status).sort()).toEqual([202, 202, 202, 507])
  await lab.pass(10_000)
  const small = await make('small', 1)
  await lab.admin('POST /lab/acts', { act: 'capacity-gone', site: 'cloud', of: 'host', ref: 'node-2' })
  const asked = await site.call('POST /instances', { ...newMachine('odd', 1), host: 'node-9' })
  expect(asked.json).toMatchObject({ code: 'platform-absent' })
  expect(await site.done(`POST /instances/${small}/power`, verb('start'))).toMatchObject({
    state: 'succeeded',
  })
  expect((await powerOf(site, small)).host).not.toBe('node-2')
})

test('what was due before a host died was done before it died', async () => {
  const lab = await createLab({ pace: 1_000 })
  const site = await lab.signIn('cloud')
  const { id } = (await site.call('POST /instances/vm-1/move', { host: 'node-2' })).json as WireTask
  await lab.database.db`update lab.world set offset_ms = offset_ms + 3000000`
  await lab.admin('POST /lab/acts', { act: 'host-dead', site: 'cloud', host: 'node-1', mode: 'crash' })
  expect((await site.call(`GET /tasks/${id}`)).json).toMatchObject({ state: 'succeeded' })
  expect(await powerOf(site, 'vm-1')).toMatchObject({ state: 'on', host: 'node-2' })
})

test('a dead host says nothing about its machines: after a crash they are off, after a partition they ran on', async () => {
  const lab = await createLab({ pace: 0 })
  const site = await lab.signIn('cloud')
  const counter = async () => (await guestOf(site, 'vm-1')).counter ?? -1
  await lab.pass(60_000)
  for (const mode of ['partition', 'crash']) {
    const before = await counter()
    await lab.admin('POST /lab/acts', { act: 'host-dead', site: 'cloud', host: 'node-1', mode })
    for (const call of ['GET /instances/vm-1/power', 'GET /instances/vm-1', 'GET /instances/vm-1/guest'])
      expect((await site.call(call)).json).toMatchObject({ code: 'platform-unreachable', failure: 'unknown' })
    expect((await site.call('POST /instances/vm-1/power', verb('stop'))).status).toBe(503)
    const { items } = (await site.call('GET /inventory')).json as { items: { type: string; ref?: string }[] }
    expect(items.find(({ ref }) => ref === 'vm-1')).toMatchObject({ type: 'problem' })
    await lab.pass(60_000)
    await lab.admin('POST /lab/acts', { act: 'host-back', site: 'cloud', host: 'node-1' })
    if (mode === 'partition') expect(await counter()).toBeGreaterThanOrEqual(before + 600)
    else expect(await powerOf(site, 'vm-1')).toMatchObject({ state: 'off' })
  }
})
