import { expect, test } from 'vitest'
import type { WireTask } from '../../../src/platforms/lab/protocol.ts'
import { createLab } from '../../support/lab.ts'

const request = (name: string) => ({
  name,
  project: 'default',
  host: '',
  folder: '',
  cpus: 2,
  memory: 1024 ** 3,
  uuid: '4201CCCC-0000-4000-8000-000000000001',
  legacy_boot: false,
  secure_boot: false,
  nics: [{ mac: '00:16:3E:00:00:01', network: 'bridge-shop', type: 'managed', vlan: '' }],
  disks: [{ key: 'root', capacity: 1024 ** 3, pool: 'local' }],
  owner: { batch: 'shop', entry: '17' },
})

test('asked twice under one name, a thing is done once, whoever asks and after a restart too', async () => {
  const lab = await createLab()
  const site = await lab.signIn('cloud')
  const ask = async (name: string) =>
    (await site.call('POST /instances', request('once'), { name })).json as WireTask
  const many = await Promise.all(Array.from({ length: 6 }, () => ask('create once')))
  await lab.restart()
  expect(new Set([...many, await ask('create once')].map(({ id }) => id)).size).toBe(1)
  const owned = await site.call('POST /instances/find-owned', { owner: { entry: '17' } })
  expect(owned.json).toEqual({ refs: [many[0]?.machine] })
  const found = (await site.call('GET /tasks?name=create%20once')).json as { tasks: WireTask[] }
  expect(found.tasks).toHaveLength(1)
  expect(found.tasks[0]).toMatchObject({ state: 'succeeded', result: many[0]?.machine })
})

test('a name that meant something else is refused, and nothing is done', async () => {
  const lab = await createLab()
  const site = await lab.signIn('cloud')
  await site.done('POST /instances', request('first'), { name: 'intent' })
  const other = await site.call('POST /instances', { ...request('first'), cpus: 3 }, { name: 'intent' })
  expect([other.status, other.json]).toEqual([422, expect.objectContaining({ code: 'platform-refused' })])
  expect((await site.call('POST /instances/vm-1/power', { verb: 'stop' }, { name: 'intent' })).status).toBe(
    422,
  )
  expect((await site.call('GET /instances/vm-1/power')).json).toMatchObject({ state: 'on' })
})

test('a new machine has what it was asked for, and a change shows in its facts', async () => {
  const lab = await createLab()
  const site = await lab.signIn('cloud')
  const { result } = await site.done('POST /instances', request('new'))
  const facts = async () => ((await site.call(`GET /instances/${result}`)).json as { facts: never }).facts
  expect(await facts()).toMatchObject({
    ref: result,
    uuid: '4201cccc-0000-4000-8000-000000000001',
    location: '/cloud/vm/new',
    nics: [{ mac: '00:16:3e:00:00:01', network_ref: 'bridge-shop', connected: true }],
    disks: [{ key: 'root', capacity: 1024 ** 3, used: 0, thin: true }],
    power_state: 'off',
    background_import: false,
  })
  await site.done(`POST /instances/${result}/reconfigure`, {
    cpus: 4,
    description: 'told',
    change_tracking: true,
    attributes: { a: 'b' },
  })
  expect(await facts()).toMatchObject({
    cpus: 4,
    description: 'told',
    background_import: true,
    attributes: { a: 'b' },
    disks: [{ change_id: expect.stringMatching(/\/0$/) }],
  })
  expect(
    await site
      .done(`POST /instances/${result}/rename`, { name: 'bastion' })
      .catch((error: Error) => error.message),
  ).toMatch(/409.*platform-name-taken/)
  await site.done(`POST /instances/${result}/rename`, { name: 'newer' })
  expect(await facts()).toMatchObject({ name: 'newer', location: '/cloud/vm/newer' })
  expect((await site.call(`PUT /instances/${result}/owner`, { owner: { entry: '18' } })).status).toBe(204)
  expect((await site.call(`GET /instances/${result}/owner`)).json).toEqual({
    owner: { batch: 'shop', entry: '18' },
  })
})

test('two creates of one name that run at once end with one machine and one refusal', async () => {
  const lab = await createLab({ pace: 1_000 })
  const site = await lab.signIn('cloud')
  const begun = [
    await site.call('POST /instances', request('race'), { name: 'a' }),
    await site.call('POST /instances', request('race'), { name: 'b' }),
  ]
  expect(begun.map(({ status }) => status)).toEqual([202, 202])
  await lab.pass(2_000_000)
  const ends = await Promise.all(
    begun.map(async ({ json }) => (await site.call(`GET /tasks/${(json as WireTask).id}`)).json as WireTask),
  )
  expect(ends.map(({ state }) => state)).toEqual(['succeeded', 'failed'])
  expect(ends[1]?.error).toMatchObject({ code: 'platform-name-taken', failure: 'refused' })
})

test('a project takes no more than its limits, and what does not exist cannot be used', async () => {
  const lab = await createLab()
  const site = await lab.signIn('cloud')
  const codeOf = async (change: Record<string, unknown>) =>
    ((await site.call('POST /instances', { ...request('x'), ...change })).json as { code?: string }).code
  expect(await codeOf({ project: 'shop', cpus: 65 })).toBe('platform-no-capacity')
  expect(await codeOf({ project: 'nowhere' })).toBe('platform-absent')
  expect(await codeOf({ disks: [{ key: 'root', capacity: 1, pool: 'nowhere' }] })).toBe('platform-absent')
  expect(await codeOf({ nics: [{ mac: '', network: 'nowhere', type: 'managed', vlan: '' }] })).toBe(
    'platform-absent',
  )
  expect(
    await codeOf({
      disks: [
        { key: 'root', capacity: 1, pool: 'local' },
        { key: 'root', capacity: 1, pool: 'local' },
      ],
    }),
  ).toBe('platform-refused')
  expect(await codeOf({ cpus: 0 })).toBe('platform-refused')
})

test('a destroyed machine is gone with its disks, snapshots and saved states; its name is free again', async () => {
  const lab = await createLab()
  const site = await lab.signIn('cloud')
  const { result } = await site.done('POST /instances', request('brief'))
  await site.done(`POST /instances/${result}/snapshots`, { name: 's', memory: false, quiesce: false })
  await site.done(`DELETE /instances/${result}`)
  expect((await site.call(`GET /instances/${result}`)).status).toBe(404)
  expect((await site.call(`GET /instances/${result}/disks/root/bytes?offset=0&length=1`)).status).toBe(404)
  expect((await site.call('POST /instances/find-owned', { owner: { entry: '17' } })).json).toEqual({
    refs: [],
  })
  expect(await site.done('POST /instances', request('brief'))).toMatchObject({ state: 'succeeded' })
})
