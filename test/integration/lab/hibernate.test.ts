import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { createLab, type SiteClient } from '../../support/lab.ts'

const guestOf = async (site: SiteClient, ref: string) =>
  (await site.call(`GET /instances/${ref}/guest`)).json as { boot_id: string; counter: number }
const powerOf = async (site: SiteClient, ref: string) =>
  (await site.call(`GET /instances/${ref}/power`)).json as { state: string; host: string; boot_id: string }

test('a guest that was saved wakes on another host and counts on; a cold start would not', async () => {
  const lab = await createLab()
  const site = await lab.signIn('cloud')
  await lab.pass(3_600_000)
  const before = await guestOf(site, 'vm-1')
  const { result: state } = await site.done('POST /instances/vm-1/save')
  expect(await powerOf(site, 'vm-1')).toMatchObject({ state: 'off' })
  await lab.pass(86_400_000)
  const saved = (await site.call(`GET /saved/${state}`)).json as { digest: string; size: number }
  const content = (await site.call(`GET /saved/${state}/content`)).bytes
  expect(saved).toMatchObject({ machine: 'vm-1', complete: true, size: content.length })
  expect(saved.digest).toBe(`sha256:${createHash('sha256').update(content).digest('hex')}`)
  expect(content.toString('latin1')).toContain(`"bootId":"${before.boot_id}"`)
  expect(await site.done(`POST /saved/${state}/restore`, { host: 'node-3' })).toMatchObject({
    state: 'succeeded',
    result: 'vm-1',
  })
  expect(await powerOf(site, 'vm-1')).toMatchObject({ state: 'on', host: 'node-3' })
  const after = await guestOf(site, 'vm-1')
  expect(after.boot_id).toBe(before.boot_id)
  expect(after.counter).toBeGreaterThanOrEqual(before.counter)
  expect(after.counter).toBeLessThan(before.counter + 864_000)
})

test('memory wakes only while its machine is off and its disks are as they were', async () => {
  const lab = await createLab()
  const site = await lab.signIn('cloud')
  const { result: state } = await site.done('POST /instances/vm-1/save')
  const wake = () => site.call(`POST /saved/${state}/restore`, { host: '' })
  await site.call('PUT /instances/vm-1/disks/2000/bytes?offset=0', Buffer.alloc(10))
  expect((await wake()).json).toMatchObject({ code: 'platform-refused' })
  await site.done('POST /instances/vm-1/power', { verb: 'start' })
  expect((await wake()).json).toMatchObject({ code: 'platform-wrong-state' })
  expect((await site.call(`DELETE /saved/${state}`)).status).toBe(204)
  expect((await site.call(`DELETE /saved/${state}`)).status).toBe(204)
  expect((await wake()).status).toBe(404)
})

test('memory that is damaged does not wake', async () => {
  const lab = await createLab()
  const site = await lab.signIn('cloud')
  const { result: state } = await site.done('POST /instances/vm-1/save')
  await lab.database
    .db`update lab.saved set content = set_byte(content, 70000, 255 - get_byte(content, 70000))`
  const refused = await site.call(`POST /saved/${state}/restore`, { host: '' })
  expect(refused.json).toMatchObject({ code: 'platform-refused', failure: 'refused' })
  expect(await powerOf(site, 'vm-1')).toMatchObject({ state: 'off' })
})

test('a live move keeps the run, the boot and the count, and asks for a host of the same CPU class', async () => {
  const lab = await createLab()
  const site = await lab.signIn('cloud')
  const [guest, power] = [await guestOf(site, 'vm-1'), await powerOf(site, 'vm-1')]
  await site.done('POST /instances/vm-1/move', { host: 'node-2' })
  expect(await powerOf(site, 'vm-1')).toEqual({ ...power, host: 'node-2' })
  const after = await guestOf(site, 'vm-1')
  expect([after.boot_id, after.counter >= guest.counter]).toEqual([guest.boot_id, true])
  expect((await site.call('POST /instances/vm-1/move', { host: 'node-2' })).status).toBe(409)
  const source = await lab.signIn('vcenter')
  const refused = await source.call('POST /instances/vm-102/move', { host: 'host-12' })
  expect(refused.json).toMatchObject({ code: 'platform-refused' })
  const bound = await source.call('POST /instances/vm-203/move', { host: 'host-11' })
  expect(bound.json).toMatchObject({ message: expect.stringContaining('nvidia-a16') })
})

test('a host that dies while a machine moves to it fails the move, and the machine runs on where it was', async () => {
  const lab = await createLab({ pace: 1_000 })
  const site = await lab.signIn('cloud')
  const { id } = (await site.call('POST /instances/vm-1/move', { host: 'node-2' })).json as { id: string }
  await lab.admin('POST /lab/acts', { act: 'host-dead', site: 'cloud', host: 'node-2', mode: 'crash' })
  await lab.pass(2_000_000)
  expect((await site.call(`GET /tasks/${id}`)).json).toMatchObject({
    state: 'failed',
    error: { code: 'platform-unreachable' },
  })
  expect(await powerOf(site, 'vm-1')).toMatchObject({ state: 'on', host: 'node-1' })
})
