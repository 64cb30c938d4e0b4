import { expect, test } from 'vitest'
import { type InventoryPage, inventoryPage, type WireItem } from '../../../src/platforms/lab/protocol.ts'
import { createLab, type SiteClient } from '../../support/lab.ts'

const readAll = async (site: SiteClient, first = 'GET /inventory?limit=1000') => {
  const items: WireItem[] = []
  let request = first
  for (let pages = 1; ; pages += 1) {
    const answer = await site.call(request)
    if (answer.status !== 200)
      throw new Error(`${request} answered ${answer.status}: ${answer.bytes.toString()}`)
    const page: InventoryPage = inventoryPage.parse(answer.json)
    items.push(...page.items)
    if (page.next === null) return { items, cursor: page.cursor ?? '', pages }
    request = `${first}&page=${page.next}`
  }
}

const ofType = (items: readonly WireItem[], type: string) => items.filter((item) => item.type === type)

test('the large world has ten thousand machines, lists them in order, and each can be read and started', async () => {
  const lab = await createLab({ world: 'large' })
  const site = await lab.signIn('vcenter')
  const { items, pages } = await readAll(site)
  expect(ofType(items, 'instance')).toHaveLength(10_000)
  expect(pages).toBe(10)
  expect(
    new Set(items.map((item) => JSON.stringify('facts' in item ? [item.type, item.facts.ref] : item))).size,
  ).toBe(items.length)
  expect(
    (await site.call('GET /instances/vm-30/disks/2000/bytes?offset=0&length=100')).bytes.toString(),
  ).toContain('DROVER LAB GUEST')
  expect(await site.done('POST /instances/vm-30/power', { verb: 'start' })).toMatchObject({
    state: 'succeeded',
  })
  expect((await site.call('GET /instances/vm-30/guest')).json).toMatchObject({
    agent: 'running',
    hostname: /./,
  })
})

test('the broken world lists everything it can, with a marker for each machine that cannot be read', async () => {
  const lab = await createLab({ world: 'broken' })
  const site = await lab.signIn('left')
  const { items } = await readAll(site)
  const names = ofType(items, 'instance').map((item) => ('facts' in item ? item.facts.name : ''))
  expect(names).toContain('before\u0000after')
  expect(names).toContain('broken \ud83d emoji')
  expect(names.some((name) => String(name).length === 100 * 1024)).toBe(true)
  expect(ofType(items, 'problem').map((item) => ('error' in item ? item.error.code : ''))).toEqual([
    'platform-answer-invalid',
    'platform-permission',
    'platform-timeout',
  ])
  expect((await site.call('GET /instances/vm-8')).status).toBe(403)
  expect(ofType((await readAll(await lab.signIn('right'))).items, 'instance')).toHaveLength(6)
})
