import { expect, test } from 'vitest'
import type { InventoryPage, WireItem } from '../../../src/platforms/lab/protocol.ts'
import { createLab, type SiteClient } from '../../support/lab.ts'

const read = async (site: SiteClient, request: string, from = '') => {
  const items: WireItem[] = []
  for (let page = from; ; ) {
    const answer = await site.call(`${request}${page === '' ? '' : `&page=${page}`}`)
    if (answer.status !== 200)
      throw new Error(`${request} answered ${answer.status}: ${answer.bytes.toString()}`)
    const { items: more, next, cursor } = answer.json as InventoryPage
    items.push(...more)
    if (next === null) return { items, cursor: cursor ?? '' }
    page = next
  }
}
const everything = (site: SiteClient, more = '') => read(site, `GET /inventory?limit=7${more}`)
const since = (site: SiteClient, cursor: string, more = '') =>
  read(site, `GET /changes?limit=7&since=${cursor}${more}`)

const machines = (items: readonly WireItem[]) =>
  items.flatMap((item) => (item.type === 'instance' && 'facts' in item ? [item.facts] : []))
const gone = (items: readonly WireItem[]) => items.flatMap((item) => (item.type === 'gone' ? [item.ref] : []))
const refs = (items: readonly WireItem[]) => machines(items).map(({ ref }) => ref)

test('the small world lists each thing once over all pages, in the shape of the facts', async () => {
  const lab = await createLab()
  const site = await lab.signIn('vcenter')
  const { items } = await everything(site)
  expect(refs(items)).toHaveLength(24)
  expect(new Set(refs(items)).size).toBe(24)
  const types = (type: string) => items.filter((item) => item.type === type).length
  expect([types('host'), types('network'), types('storage'), types('project')]).toEqual([2, 4, 2, 0])
  const cloud = await everything(await lab.signIn('cloud'))
  expect(cloud.items.filter(({ type }) => type === 'host')).toHaveLength(3)
  expect(cloud.items.filter(({ type }) => type === 'project')).toHaveLength(2)
})

test('a delta tells what changed since its cursor and no more, over restarts', async () => {
  const lab = await createLab()
  const site = await lab.signIn('vcenter')
  const { cursor } = await everything(site)
  expect(machines((await since(site, cursor)).items)).toEqual([])
  await site.done('POST /instances/vm-101/power', { verb: 'stop' })
  await site.done('POST /instances/vm-106/rename', { name: 'ad-02' })
  await site.done('DELETE /instances/vm-112')
  await lab.restart()
  const delta = await since(site, cursor)
  expect(refs(delta.items)).toEqual(['vm-101', 'vm-106'])
  expect(machines(delta.items)).toEqual([
    expect.objectContaining({ power_state: 'off', running: false }),
    expect.objectContaining({ name: 'ad-02', location: '/Paris/vm/office/ad-02' }),
  ])
  expect(gone(delta.items)).toEqual(['vm-112'])
  expect(machines((await since(site, delta.cursor)).items)).toEqual([])
})

test('what changes while a listing is read is in its pages or in the delta after it', async () => {
  const lab = await createLab()
  const site = await lab.signIn('vcenter')
  const first = (await site.call('GET /inventory?limit=10')).json as InventoryPage
  await site.done('POST /instances/vm-101/rename', { name: 'renamed-behind' })
  await site.done('POST /instances/vm-211/rename', { name: 'renamed-ahead' })
  const rest = await read(site, 'GET /inventory?limit=10', first.next ?? '')
  expect(machines(rest.items)).toContainEqual(expect.objectContaining({ name: 'renamed-ahead' }))
  const delta = await since(site, rest.cursor)
  expect(machines(delta.items)).toContainEqual(expect.objectContaining({ name: 'renamed-behind' }))
})

test('a machine vanishes, comes back, changes its UUID and leaves the scope: the delta says each', async () => {
  const lab = await createLab()
  const site = await lab.signIn('vcenter')
  const scope = '&scope=/Paris/vm/shop'
  let { cursor, items } = await everything(site, scope)
  expect(refs(items)).toContain('vm-101')
  expect(refs(items)).not.toContain('vm-106')
  const next = async () => {
    const delta = await since(site, cursor, scope)
    cursor = delta.cursor
    return delta.items
  }
  const console = '/lab/sites/vcenter/instances/vm-101'
  expect((await lab.admin(`DELETE ${console}`)).status).toBe(204)
  expect(gone(await next())).toEqual(['vm-101'])
  expect((await site.call('GET /instances/vm-101')).status).toBe(404)
  expect((await lab.admin(`POST ${console}/put-back`)).status).toBe(204)
  expect(refs(await next())).toEqual(['vm-101'])
  await lab.admin(`PATCH ${console}`, { uuid: '42010000-0000-4000-8000-0000000000ff' })
  expect(machines(await next())).toEqual([
    expect.objectContaining({ uuid: '42010000-0000-4000-8000-0000000000ff' }),
  ])
  await lab.admin(`PATCH ${console}`, { folder: '/Paris/vm/office' })
  expect(gone(await next())).toContain('vm-101')
  expect((await lab.admin('PATCH /lab/sites/vcenter/instances/vm-999', { uuid: '' })).status).toBe(404)
})

test('a cursor that was lost, or is of another world, says so instead of telling half', async () => {
  const lab = await createLab()
  const site = await lab.signIn('vcenter')
  const { cursor } = await everything(site)
  await lab.admin('POST /lab/acts', { act: 'cursor-loss', site: 'vcenter' })
  const lost = await site.call(`GET /changes?since=${cursor}`)
  expect([lost.status, lost.json]).toEqual([410, expect.objectContaining({ code: 'platform-cursor-lost' })])
  for (const odd of ['', '0', 'x.y', '99999999999.0', `${(await everything(site)).cursor}9`])
    expect((await site.call(`GET /changes?since=${odd}`)).status).toBe(410)
  expect((await site.call('GET /inventory?page=garbage')).status).toBe(422)
  expect((await site.call('GET /inventory?limit=1001')).status).toBe(422)
})

test('many changes at once: a reader that follows by deltas ends with what a full listing shows', async () => {
  const lab = await createLab()
  const site = await lab.signIn('vcenter')
  const full = await everything(site)
  const known = new Map(machines(full.items).map((facts) => [facts.ref, facts]))
  let { cursor } = full
  const follow = async () => {
    const delta = await since(site, cursor)
    for (const ref of gone(delta.items)) known.delete(ref)
    for (const facts of machines(delta.items)) known.set(facts.ref, facts)
    cursor = delta.cursor
  }
  const changes = Array.from({ length: 40 }, (_, n) =>
    lab.admin(`PATCH /lab/sites/vcenter/instances/vm-${101 + (n % 13)}`, {
      facts: { description: `change ${n}` },
    }),
  )
  await Promise.all([...changes, follow(), follow().then(follow)])
  await follow()
  const now = machines((await everything(site)).items)
  expect([...known.values()].sort((a, b) => String(a.ref).localeCompare(String(b.ref)))).toEqual(
    now.sort((a, b) => String(a.ref).localeCompare(String(b.ref))),
  )
})

test('nobody reads anything without a session, and a site that does not exist is absent', async () => {
  const lab = await createLab()
  const get = async (path: string, headers = {}) => (await fetch(`${lab.url}${path}`, { headers })).status
  expect(await get('/sites/vcenter/inventory')).toBe(401)
  expect(await get('/sites/vcenter/inventory', { authorization: 'Bearer stolen' })).toBe(401)
  expect(await get('/sites/nowhere/inventory')).toBe(404)
  expect(await get('/sites/vcenter/nothing')).toBe(404)
  const site = await lab.signIn('vcenter')
  expect((await site.call('DELETE /session')).status).toBe(204)
  expect((await site.call('GET /about')).json).toMatchObject({ code: 'platform-session-lost' })
  // Who is refused while it still sends sees the answer, or the end of the connection.
  const large = await fetch(`${lab.url}/sites/vcenter/session`, {
    method: 'POST',
    body: 'x'.repeat(1024 * 1024 + 1),
  }).then(
    ({ status }) => status,
    () => 'cut off',
  )
  expect([422, 'cut off']).toContain(large)
})
