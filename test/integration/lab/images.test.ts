import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { createLab } from '../../support/lab.ts'

const MiB = 1024 * 1024
const image = (size: number, format = 'raw') => ({
  name: 'golden',
  folder: '/cloud/templates',
  project: 'default',
  pool: 'local',
  host: '',
  network: 'bridge-shop',
  cpus: 2,
  memory: 1024 ** 3,
  disks: [{ id: 'disk-0', capacity: 16 * MiB, size, format }],
  owner: { template: 'golden' },
})

test('an image comes in pieces, goes on after a cut where it stopped, and is whole only when all of it is there', async () => {
  const lab = await createLab()
  const site = await lab.signIn('cloud')
  const bytes = randomBytes(9 * MiB + 123)
  const create = () => site.call('POST /images', image(bytes.length), { name: 'import golden' })
  const { ref } = (await create()).json as { ref: string }
  expect((await create()).json).toEqual({ ref })
  const disk = `/images/${ref}/disks/disk-0`
  await lab.admin('POST /lab/faults', { kind: 'partial-write', call: 'image-write', fraction: 0.6, times: 1 })
  await expect(site.call(`PUT ${disk}?offset=0`, bytes)).rejects.toThrow()
  expect((await site.call(`GET /templates/${ref}`)).json).toMatchObject({ complete: false, name: 'golden' })
  expect((await site.call(`POST /images/${ref}/complete`)).json).toMatchObject({
    code: 'platform-wrong-state',
  })
  const { received } = (await site.call(`GET ${disk}`)).json as { received: number }
  expect(received).toBe(Math.floor(bytes.length * 0.6))
  expect((await site.call(`PUT ${disk}?offset=${received + 1}`, bytes.subarray(received + 1))).status).toBe(
    409,
  )
  expect((await site.call(`PUT ${disk}?offset=${received}`, bytes.subarray(received))).json).toEqual({
    received: bytes.length,
  })
  expect((await site.call(`POST /images/${ref}/complete`)).json).toMatchObject({
    complete: true,
    owner: { template: 'golden' },
  })
  const read = await site.call(`GET /instances/${ref}/disks/disk-0/bytes?offset=0&length=${bytes.length}`)
  expect(read.bytes.equals(bytes)).toBe(true)
  expect((await site.call('GET /templates?folder=/cloud/templates')).json).toMatchObject({
    templates: [{ name: 'debian-12' }, { name: 'golden', complete: true }],
  })
})

test('without a pool an image goes where there is room, and the refusal of a wrong one names the pools', async () => {
  const lab = await createLab()
  const site = await lab.signIn('cloud')
  expect((await site.call('POST /images', { ...image(MiB), pool: '' })).status).toBe(201)
  expect(
    (await site.call('POST /images', { ...image(MiB), name: 'other', pool: 'nope' })).json,
  ).toMatchObject({
    message: 'There is no storage "nope".',
    remedy: expect.stringMatching(/pool.*local/),
  })
})

test('an import that is given up leaves nothing; a whole template is not given up that way', async () => {
  const lab = await createLab()
  const site = await lab.signIn('cloud')
  const { ref } = (await site.call('POST /images', image(MiB))).json as { ref: string }
  expect((await site.call(`DELETE /images/${ref}`)).status).toBe(204)
  expect((await site.call(`GET /templates/${ref}`)).status).toBe(404)
  expect((await site.call('DELETE /images/template-1')).status).toBe(409)
  expect((await site.call('POST /images', image(MiB))).status).toBe(201)
})

test('what the lab cannot decode, more bytes than were announced, and a name that is taken are refused', async () => {
  const lab = await createLab()
  const site = await lab.signIn('cloud')
  const vmdk = await site.call('POST /images', image(MiB, 'vmdk-stream'))
  expect([vmdk.status, vmdk.json]).toEqual([501, expect.objectContaining({ failure: 'unsupported' })])
  expect((await site.call('POST /images', image(17 * MiB))).status).toBe(422)
  const { ref } = (await site.call('POST /images', image(MiB))).json as { ref: string }
  expect((await site.call(`PUT /images/${ref}/disks/disk-0?offset=0`, Buffer.alloc(MiB + 1))).status).toBe(
    422,
  )
  expect((await site.call('POST /images', image(MiB))).json).toMatchObject({ code: 'platform-name-taken' })
})

test('a template does not start; as a machine it does, and only off is it a template again', async () => {
  const lab = await createLab()
  const site = await lab.signIn('cloud')
  const start = () => site.call('POST /instances/template-1/power', { verb: 'start' })
  expect((await start()).json).toMatchObject({ code: 'platform-wrong-state' })
  expect((await site.call('POST /instances/template-1/mark-machine')).status).toBe(204)
  await site.done('POST /instances/template-1/power', { verb: 'start' })
  expect((await site.call('GET /instances/template-1/guest')).json).toMatchObject({ hostname: 'debian-12' })
  expect((await site.call('POST /instances/template-1/mark-template')).status).toBe(409)
  await site.done('POST /instances/template-1/power', { verb: 'stop' })
  expect((await site.call('POST /instances/template-1/mark-template')).status).toBe(204)
  expect((await site.call('GET /templates/template-1')).status).toBe(200)
})
