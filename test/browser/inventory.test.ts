import { expect, test } from 'vitest'
import { createLab } from '../support/lab.ts'
import { until } from '../support/wait.ts'
import { accessibilityFaults, contrastFaults } from './accessibility.ts'
import {
  openPage,
  patienceMs,
  signedIn,
  signIn,
  startBrowser,
  tabTo,
  toNewPage,
  untilLive,
} from './browser.ts'
import { startFleet } from './fleet.ts'

const fleet = await startFleet()
const browser = await startBrowser()
const lab = await createLab()
const tlsLab = await createLab({ tls: true })

interface Site {
  readonly connectivity: { readonly state: string }
  readonly sync: { readonly synced_at: string | null }
  readonly revision: number
}

interface Instance {
  readonly id: string
  readonly ref: string
  readonly name: string
  readonly readiness: string
  readonly findings: readonly string[]
}

const siteOf = (role: string, name: string): Promise<Site> => fleet.ask('GET', `/v1/${role}s/${name}`)

const addLabSite = async (role: 'source' | 'target', name: string, site: string): Promise<void> => {
  const endpoint = lab.endpoint(site)
  const body = { name, kind: 'lab', endpoint, username: 'drover', password: lab.password }
  await fleet.ask('POST', `/v1/${role}s`, body)
  await until(async () => (await siteOf(role, name)).sync.synced_at !== null, {
    what: `${name} to be read`,
    withinMs: patienceMs,
  })
}

const instancesOf = async (query: string): Promise<readonly Instance[]> =>
  (await fleet.ask<{ items: Instance[] }>('GET', `/v1/instances?limit=200&${query}`)).items

await addLabSite('source', 'paris', 'vcenter')
await addLabSite('target', 'lyon', 'cloud')
const [network] = (await fleet.ask<{ items: { id: string }[] }>('GET', '/v1/networks?source=paris')).items
const [machine] = await instancesOf('')

const pages = [
  ...['/', '/sources', '/sources/paris', '/sources/paris/edit', '/add-source', '/targets', '/targets/lyon'],
  ...['/hosts', '/networks', `/networks/${network?.id}`, '/instances', `/instances/${machine?.id}`],
  ...[
    '/instances?filter=no_such_field',
    `/instances/${machine?.id}/overrides`,
    '/assessment',
    '/warnings?status=any',
  ],
]

const one = async (query: string): Promise<Instance> => {
  const [first] = await instancesOf(query)
  if (!first) throw new Error(`No instance fits ${query}.`)
  return first
}

const token = (role: 'viewer' | 'operator'): Promise<{ secret: string }> =>
  fleet.ask('POST', '/v1/tokens', { name: `a-${role}`, role })

test('a newcomer sees the inventory, finds a blocked machine, reads why, and takes the risk', async () => {
  const page = await signedIn(browser, fleet)
  await page.locator('#inventory').getByRole('link', { name: '1 source' }).waitFor()
  await page.locator('#inventory').getByRole('link', { name: '24', exact: true }).click()
  await page.locator('.count-line', { hasText: '24 machines fit.' }).waitFor()
  await page.getByLabel('Filter (CEL)').fill('readiness == "blocked" && power_state == "off"')
  await page.getByRole('button', { name: 'Filter' }).click()
  await page.locator('.count-line', { hasText: '1 machine fits.' }).waitFor()
  const blocked = await one(
    'filter=readiness%20%3D%3D%20%22blocked%22%20%26%26%20power_state%20%3D%3D%20%22off%22',
  )
  const list = await signedIn(browser, fleet, '/instances')
  await untilLive(list)
  const row = list.locator(`tr[data-key="${blocked.id}"]`)
  await row.getByText('blocked', { exact: true }).waitFor()
  await list.evaluate('window.notReloaded = true')

  await page.getByRole('link', { name: blocked.name }).click()
  await page.waitForURL(`**/instances/${blocked.id}`)
  expect(blocked.findings).toContain('no-ipv4')
  const risks = page.locator('#findings details.waive')
  while ((await risks.count()) > 0) {
    await risks.first().locator('summary').click()
    await risks.first().getByLabel('Why it is no matter here').fill('the owner knows')
    await toNewPage(page, () =>
      risks.first().getByRole('button', { name: 'Waive it for this machine' }).click(),
    )
    await page.getByText('The rule no longer counts for this machine.').waitFor()
  }
  await page.locator('#state .is-fit', { hasText: 'ready' }).waitFor()
  await page.getByText('the owner knows').first().waitFor()
  await row.getByText('ready', { exact: true }).waitFor()
  expect(await list.evaluate('window.notReloaded')).toBe(true)

  const finding = page.locator('li[data-key="no-ipv4"]')
  await finding.getByRole('button', { name: /Let it count again/ }).click()
  await page.getByText('The rule counts again.').waitFor()
  expect((await one(`filter=name%3D%3D%22${blocked.name}%22`)).readiness).not.toBe('ready')
})

test('a machine turns before the eyes when its findings are waived elsewhere', async () => {
  const { id, findings } = await one('readiness=warning')
  const page = await signedIn(browser, fleet, `/instances/${id}`)
  await untilLive(page)
  await page.locator('#state .is-wary').waitFor()
  await page.evaluate('window.notReloaded = true')
  for (const rule of findings)
    await fleet.ask('POST', '/v1/waivers', { rule, instance_id: id, reason: 'seen and accepted' })
  await page.locator('#state .is-fit').waitFor()
  expect(await page.evaluate('window.notReloaded')).toBe(true)
})

test('a filter with a mistake shows the character, and what would be right', async () => {
  const page = await signedIn(browser, fleet, '/instances')
  await page.getByLabel('Filter (CEL)').fill('memory > 1 && cpu > 2')
  await page.keyboard.press('Enter')
  const alert = page.getByRole('alert')
  await alert.waitFor()
  expect(await alert.locator('pre').textContent()).toBe(`memory > 1 && cpu > 2\n${' '.repeat(14)}^`)
  expect(await alert.textContent()).toContain('Did you mean cpus?')
  expect(await page.getByLabel('Filter (CEL)').inputValue()).toBe('memory > 1 && cpu > 2')
})

test('a form with mistakes names each at its field, and never shows a password again', async () => {
  const page = await signedIn(browser, fleet, '/add-source', { expected: /422/ })
  await page.getByLabel('Name', { exact: true }).fill('bad name')
  await page.getByLabel('Address').fill('https://vcenter.example.org/sdk?x=1')
  await page.getByLabel('User name').fill('drover')
  await page.getByLabel('Password').fill('planted-secret-7c1e')
  await page.getByText('Limits and times').click()
  await page.getByLabel('Sync limit').fill('65')
  await page.getByRole('button', { name: 'Add the source' }).click()
  await page.getByText('Nothing was changed.').waitFor()
  for (const name of ['in-name', 'in-endpoint', 'in-settings-sync_limit']) {
    const field = page.locator(`#${name}`)
    expect(await field.getAttribute('aria-invalid')).toBe('true')
    expect(await field.getAttribute('aria-describedby')).toContain(`${name}-error`)
    expect((await page.locator(`#${name}-error`).textContent())?.length).toBeGreaterThan(5)
  }
  expect(await page.getByLabel('User name').inputValue()).toBe('drover')
  expect(await page.getByLabel('Password').inputValue()).toBe('')
  expect(await page.content()).not.toContain('planted-secret-7c1e')
})

test('another certificate than the pinned one is shown, compared by a person, and only then spoken to', async () => {
  const page = await signedIn(browser, fleet, '/add-target')
  await page.getByLabel('Name', { exact: true }).fill('sealed')
  await page.getByLabel('Platform').selectOption('lab')
  await page.getByLabel('Address').fill(tlsLab.endpoint('cloud'))
  await page.getByLabel('User name').fill('drover')
  await page.getByLabel('Password').fill(tlsLab.password)
  await page.getByLabel('Fingerprint of its certificate').fill('ab'.repeat(32))
  await page.getByRole('button', { name: 'Add the target' }).click()
  await page.waitForURL('**/targets/sealed**')
  const certificate = page.locator('#certificate')
  await certificate.waitFor()
  const text = (await certificate.textContent()) ?? ''
  for (const part of ['It is not the one that was confirmed before', 'Issued to', 'Issued by', 'Valid'])
    expect(text).toContain(part)
  await page.screenshot({ path: 'test-results/certificate.png', fullPage: true })
  await page.getByRole('button', { name: 'Trust this certificate' }).click()
  expect(await page.evaluate(`document.getElementById('compared').validity.valueMissing`)).toBe(true)
  expect((await siteOf('target', 'sealed')).connectivity.state).toBe('confirm-fingerprint')
  await page.locator('#compared').check()
  await page.getByRole('button', { name: 'Trust this certificate' }).click()
  await page.locator('#standing .is-fit').waitFor()
  await page.locator('#inventory').getByRole('link', { name: '3 hosts' }).waitFor()
})

test('a source that stops letting us in warns on the overview, in words', async () => {
  await fleet.ask('POST', '/v1/sources', {
    name: 'locked',
    kind: 'lab',
    endpoint: lab.endpoint('vcenter'),
    username: 'drover',
    password: 'not-the-password',
  })
  const page = await signedIn(browser, fleet)
  const warning = page.locator('.warnings li', { hasText: 'The source locked is not connected' })
  await warning.getByRole('link', { name: 'Look at locked' }).click()
  await page.getByText('What to do:').first().waitFor()
  await page.getByRole('link', { name: 'Change or remove it' }).click()
  await page.getByRole('button', { name: 'Remove locked' }).click()
  await page.waitForURL('**/sources?**')
  expect((await fleet.ask<{ items: unknown[] }>('GET', '/v1/sources')).items).toHaveLength(1)
})

test('names from a platform are shown as they are, and can neither run nor turn the line around', async () => {
  const evil = '<img src=x onerror="document.title=1">\u202Egnp.exe'
  const { id, ref } = await one('filter=name%3D%3D%22web-02%22')
  const { status } = await lab.admin(`PATCH /lab/sites/vcenter/instances/${ref}`, { name: evil })
  expect(status).toBe(204)
  await fleet.ask('POST', '/v1/sources/paris/:sync', { mode: 'full' })
  await until(async () => (await instancesOf('')).some(({ name }) => name.includes('onerror')), {
    what: 'the name to be read',
    withinMs: patienceMs,
  })
  const page = await signedIn(browser, fleet)
  for (const path of [
    '/instances',
    `/instances/${id}`,
    `/instances/${id}/overrides`,
    '/events',
    '/warnings',
  ]) {
    await page.goto(path)
    await untilLive(page)
    expect(await page.locator('main img, main script').count()).toBe(0)
    expect(await page.title()).not.toBe('1')
  }
  await page.goto(`/instances/${id}`)
  const title = await page.getByRole('heading', { level: 1 }).textContent()
  expect(title).toBe('<img src=x onerror="document.title=1">⟨202E⟩gnp.exe')
})

test('a person decides about a machine; who comes too late is told, and loses nothing typed', async () => {
  const { id } = await one('filter=name%3D%3D%22db-01%22')
  const page = await signedIn(browser, fleet, `/instances/${id}/overrides`, { expected: /412/ })
  const late = await signedIn(browser, fleet, `/instances/${id}/overrides`, { expected: /412|422/ })
  await page.getByLabel('CPUs').fill('6')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved.').waitFor()
  await page.locator('#facts .mark', { hasText: 'by hand; its source says 8' }).waitFor()
  await late.getByLabel('Comment').fill('my own words')
  await late.getByRole('button', { name: 'Save' }).click()
  await late.getByText('Nothing was changed.').waitFor()
  expect(await late.getByLabel('Comment').inputValue()).toBe('my own words')
})

test('a network lands where a person says', async () => {
  const page = await signedIn(browser, fleet, `/networks/${network?.id}`, { expected: /422/ })
  await page.getByLabel('VLAN').fill('9999')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.locator('#in-vlan_id-error').waitFor()
  await page.getByLabel('VLAN').fill('100')
  await page.getByLabel('Kind of card').selectOption('bridged')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText(/bridged, VLAN 100/).waitFor()
})

test('a machine is switched from its page, and the page shows it when the source says so', async () => {
  const { id } = await one('filter=name%3D%3D%22web-01%22')
  const page = await signedIn(browser, fleet, `/instances/${id}`)
  await untilLive(page)
  // By a slip nothing goes off: it is asked first, with what that means.
  const summary = page.locator('summary', { hasText: 'Pull the plug' })
  await summary.click()
  await page.getByText('what its guest has not written is lost').waitFor()
  await page.locator('[data-key="power-stop"]').getByText('it is off until somebody starts it').waitFor()
  await page.getByRole('button', { name: 'Pull the plug' }).click()
  expect(await page.getByText('It is being done').count()).toBe(0)
  await page.getByLabel('Yes, pull the plug').check()
  await page.screenshot({ path: 'test-results/instance-power.png', fullPage: true })
  await page.getByRole('button', { name: 'Pull the plug' }).click()
  await page.getByText('It is being done').waitFor()
  await page.getByRole('button', { name: 'Start' }).waitFor()
})

test('what changed at the source of a machine that a batch holds is shown beside what is held', async () => {
  const { id, ref } = await one('filter=name%3D%3D%22cache-01%22')
  await fleet.database.db`update instance set frozen_by = 'wave-1' where id = ${id}`
  const page = await signedIn(browser, fleet, `/instances/${id}`)
  await untilLive(page)
  await page.getByText('The batch wave-1 runs and holds what is known of it.').waitFor()
  await lab.admin(`PATCH /lab/sites/vcenter/instances/${ref}`, { name: 'cache-new' })
  const source = await signedIn(browser, fleet, '/sources/paris')
  await source.getByRole('button', { name: 'Read what changed' }).click()
  const change = page.locator('#pending tr[data-key="name"]')
  await change.waitFor()
  expect(await change.locator('del').textContent()).toBe('cache-01')
  expect(await change.locator('ins').textContent()).toBe('cache-new')
  await page.getByText('It was on when its record was taken').waitFor()
  expect(await page.locator('[data-key^="power-"]').count()).toBe(0)
})

test('a viewer sees all of it and can press nothing', async () => {
  const { secret } = await token('viewer')
  const page = await openPage(browser, fleet, { expected: /403/ })
  await signIn(page, secret, '/sources')
  for (const path of pages.filter((path) => !/edit|overrides|add-/.test(path))) {
    await page.goto(path)
    await untilLive(page)
    const buttons = await page.getByRole('button').allTextContents()
    expect({ path, buttons: buttons.filter((text) => !['Sign out', 'Filter'].includes(text)) }).toEqual({
      path,
      buttons: [],
    })
  }
  const post = (path: string) =>
    page.evaluate<number>(
      `fetch('${path}', { method: 'POST', body: new URLSearchParams() }).then((r) => r.status)`,
    )
  for (const path of [
    '/sources/paris/sync',
    `/instances/${machine?.id}/power`,
    '/add-source',
    '/sources/paris/remove',
  ])
    expect({ path, status: await post(path) }).toEqual({ path, status: 403 })
})

test('an operator reads and waives, and cannot add, confirm or remove', async () => {
  const { secret } = await token('operator')
  const page = await openPage(browser, fleet, { expected: /403/ })
  await signIn(page, secret, '/sources/paris')
  await page.getByRole('button', { name: 'Read what changed' }).waitFor()
  expect(await page.getByRole('link', { name: 'Change or remove it' }).count()).toBe(0)
  await page.goto('/add-source')
  expect(await page.locator('main').textContent()).toContain('needs the role admin')
})

test.each(['light', 'dark'] as const)(
  'every page of the inventory can be read and heard, in %s colours',
  async (colorScheme) => {
    const page = await signedIn(browser, fleet, '/', { colorScheme })
    for (const path of pages) {
      await page.goto(path)
      await untilLive(page)
      expect({ path, faults: await accessibilityFaults(page) }).toEqual({ path, faults: [] })
      expect({ path, faults: await contrastFaults(page) }).toEqual({ path, faults: [] })
    }
  },
)

test('no page of the inventory is wider than a phone', async () => {
  const page = await signedIn(browser, fleet, '/', { viewport: { width: 360, height: 740 } })
  for (const path of pages) {
    await page.goto(path)
    await untilLive(page)
    const wider = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
    expect({ path, wider }).toEqual({ path, wider: 0 })
  }
})

test('the keyboard alone filters, opens a machine and waives a rule', async () => {
  const page = await signedIn(browser, fleet, '/instances')
  await tabTo(page, 'Filter (CEL)')
  await page.keyboard.type('name == "messy"')
  await page.keyboard.press('Enter')
  await page.locator('.count-line', { hasText: '1 machine fits.' }).waitFor()
  await tabTo(page, 'messy')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/instances/*-*')
  await tabTo(page, 'Take the risk')
  await page.keyboard.press('Enter')
  await tabTo(page, 'Why it is no matter here')
  await page.keyboard.type('by hand')
  await page.keyboard.press('Enter')
  await page.getByText('The rule no longer counts for this machine.').waitFor()
})

test('without scripts the inventory is complete, and its forms work', async () => {
  const page = await openPage(browser, fleet, { javaScriptEnabled: false })
  await signIn(page, fleet.adminToken, '/sources/paris')
  await page.getByRole('button', { name: 'Check the connection' }).click()
  await page.getByText('The connection is being checked.').waitFor()
  await page.goto('/assessment')
  await page.locator('#rules tbody tr').first().waitFor()
  const csv = await page.request.get('/v1/assessment?format=csv')
  expect(await csv.text()).toContain('"paris"')
})
