import { expect, test } from 'vitest'
import { until } from '../support/wait.ts'
import { accessibilityFaults, contrastFaults } from './accessibility.ts'
import { openPage, signedIn, signIn, startBrowser, tabTo, untilLive } from './browser.ts'
import { startMigrationLab } from './migration-lab.ts'

const evil = '<img src=x onerror="document.title=1">\u202Egnp.exe'
const { fleet, lab, define, entriesOf, entryOf, readSource } = await startMigrationLab(async (made) => {
  await made.admin('PATCH /lab/sites/vcenter/instances/vm-104', { name: evil })
})
const browser = await startBrowser()

/** What a migration may take on a machine with much else to do. */
const entryWorkMs = 90_000

await define('wave-1', 'location.matches("^/Paris/vm/(shop|office)/(web-0|wiki)")')
await lab.admin('PATCH /lab/sites/vcenter/instances/vm-111', { folder: '/Paris/vm/archive' })
await readSource()
await define('hostile', 'name.contains("onerror") || name == "erp-rdm"')
await fleet.ask('POST', '/v1/batches/hostile/:start')
await until(async () => (await entriesOf('hostile')).some(({ state }) => state === 'finished'), {
  what: 'a finished machine with a hostile name',
  withinMs: entryWorkMs,
})
const hostile = (await entriesOf('hostile')).find(({ state }) => state === 'finished')
const blocked = await entryOf('hostile', 'erp-rdm')

const pages = [
  ...['/batches', '/batches/hostile', '/batches/wave-1', '/batches/hostile/edit', '/add-batch'],
  ...['/queue', '/queue?state=blocked', `/queue/${hostile?.id}`, `/queue/${blocked.id}`],
  ...['/certificates', `/certificates/${hostile?.certificate_id}`, '/signing-keys'],
  ...[
    '/batches/hostile/instances',
    '/batches/wave-1/instances',
    '/batches/hostile/plans',
    '/queue/all/cancel?batch=hostile',
  ],
]

test(
  'a newcomer starts a wave, sees it move, reads why one waits, resolves it, and has its certificate',
  async () => {
    // A fast machine would be done before a page can show that it copies.
    const slow = { kind: 'delay', ms: 2_000, site: 'vcenter', machine: 'vm-101', call: 'read' }
    await lab.admin('POST /lab/faults', slow)
    const page = await signedIn(browser, fleet, '/batches')
    await page.getByRole('link', { name: 'wave-1', exact: true }).click()
    await page.waitForURL('**/batches/wave-1')
    await untilLive(page)
    await page.locator('summary', { hasText: 'Start it' }).click()
    await page.getByLabel('Yes, the batch wave-1').first().check()
    await page.getByRole('button', { name: 'Start it' }).click()
    await page.getByText('It runs; its entries are being made.').waitFor()
    await untilLive(page)
    await page.evaluate('window.notReloaded = true')
    const waits = page.locator('#needy tr', { hasText: 'wiki-01' })
    await waits.waitFor()
    const other = page.locator('#entries tr', { hasText: 'web-01' })
    await other.locator('progress').waitFor({ timeout: entryWorkMs })
    await lab.admin('DELETE /lab/faults')
    await other.getByText('finished', { exact: true }).waitFor({ timeout: entryWorkMs })
    expect(await page.evaluate('window.notReloaded')).toBe(true)

    await waits.getByRole('link', { name: 'wiki-01' }).click()
    await page.waitForURL('**/queue/*')
    await page.locator('#state', { hasText: 'It no longer matches the include expression' }).waitFor()
    await page.getByText('What can happen from here').click()
    await page.locator('#journey tr[data-key="resolve"]').waitFor()
    await untilLive(page)
    await page.locator('summary', { hasText: 'Resolve' }).click()
    await page.getByText('it does not conflict again').waitFor()
    await page.getByText('Its source is switched off for the cutover as soon as').first().waitFor()
    await page.screenshot({ path: 'test-results/entry-resolve.png', fullPage: true })
    await page.getByLabel('Yes, resolve').check()
    await page.getByRole('button', { name: 'Resolve' }).click()
    await page.getByText('It is checked again.').waitFor()
    await untilLive(page)
    await page.evaluate('window.notReloaded = true')
    await page.locator('#state .badge', { hasText: 'finished' }).waitFor({ timeout: entryWorkMs })
    expect(await page.locator('#journey li.is-done').count()).toBe(10)
    expect(await page.evaluate('window.notReloaded')).toBe(true)
    expect(await page.locator('#place').textContent()).toContain('a mapping of its network')
    await page.screenshot({ path: 'test-results/entry.png', fullPage: true })

    await page.getByRole('link', { name: 'Its certificate' }).click()
    await page.waitForURL('**/certificates/*')
    await page.locator('#checks').getByText('passed').first().waitFor()
    const { certificate_id: id } = await entryOf('wave-1', 'wiki-01')
    const file = await page.request.get(`/v1/certificates/${id}`)
    expect(file.headers()['content-disposition']).toContain(`certificate-${id}.json`)
    await page
      .locator('#facts')
      .getByRole('link', { name: /^ed25519-/ })
      .click()
    await page.waitForURL('**/signing-keys#key-*')
    await page.locator('#keys', { hasText: 'BEGIN PUBLIC KEY' }).waitFor()
  },
  4 * entryWorkMs,
)

test('a batch is defined by a form that names each mistake at its field', async () => {
  const page = await signedIn(browser, fleet, '/add-batch', { expected: /422/ })
  await page.getByLabel('Name', { exact: true }).fill('night')
  await page.getByLabel('Which machines').fill('cpu > 2')
  await page.getByText('Windows, constraints, probes').click()
  await page.getByLabel('Windows', { exact: true }).fill('[{]')
  await page.getByRole('button', { name: 'Define the batch' }).click()
  await page.locator('#in-migration_windows-error', { hasText: 'no JSON' }).waitFor()
  expect(await page.getByLabel('Windows', { exact: true }).inputValue()).toBe('[{]')
  await page.getByLabel('Windows', { exact: true }).fill('[{"name": "a", "capacity": -1}]')
  await page.getByRole('button', { name: 'Define the batch' }).click()
  await page.locator('#in-migration_windows-error', { hasText: '0.capacity' }).waitFor()
  await page.getByLabel('Windows', { exact: true }).fill('[]')
  await page.getByRole('button', { name: 'Define the batch' }).click()
  await page.locator('#in-include_expression-error', { hasText: 'cpu' }).waitFor()
  await page.getByLabel('Which machines').fill('cpus > 1000')
  await page.getByRole('button', { name: 'Define the batch' }).click()
  await page.getByText('Defined. Its machines are being searched for.').waitFor()
  await page.getByRole('link', { name: 'Change or remove it' }).click()
  await page.getByLabel('Storage pool').fill('ceph')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.locator('#facts', { hasText: 'pool ceph' }).waitFor()
  await page.getByRole('link', { name: 'Change or remove it' }).click()
  await page.getByRole('button', { name: 'Remove night' }).click()
  await page.waitForURL('**/batches?**')
})

test('a batch is planned on its page, and the plan is approved', async () => {
  await define('planned', 'name == "build-01"')
  const page = await signedIn(browser, fleet, '/batches/planned')
  await untilLive(page)
  await page.getByRole('button', { name: 'Plan it now' }).click()
  await page.getByRole('link', { name: 'See the plan' }).click()
  await page.locator('#items tr', { hasText: 'build-01' }).getByText('goes').waitFor()
  await page.getByRole('button', { name: 'Approve this plan' }).click()
  await page.getByText('The plan is approved.').waitFor()
})

test('the keyboard alone opens an entry and gives it up, and not by a slip', async () => {
  const page = await signedIn(browser, fleet, '/queue?state=blocked')
  await tabTo(page, 'erp-rdm')
  await page.keyboard.press('Enter')
  await page.waitForURL(`**/queue/${blocked.id}`)
  await tabTo(page, 'Cancel it')
  await page.keyboard.press('Enter')
  await tabTo(page, 'Cancel the migration')
  await page.keyboard.press('Enter')
  await page.locator('#state .badge', { hasText: 'canceled' }).waitFor()
  expect((await entryOf('hostile', 'erp-rdm')).state).toBe('canceled')
})

test('a name from a platform can neither run nor turn the line around on these pages', async () => {
  const page = await signedIn(browser, fleet)
  for (const path of pages) {
    await page.goto(path)
    await untilLive(page)
    expect(await page.locator('main img, main script').count()).toBe(0)
    expect(await page.title()).not.toBe('1')
  }
  await page.goto(`/queue/${hostile?.id}`)
  const title = await page.getByRole('heading', { level: 1 }).textContent()
  expect(title).toBe('<img src=x onerror="document.title=1">⟨202E⟩gnp.exe in hostile')
})

test('a viewer sees batches, queue and certificates, and can press nothing', async () => {
  const { secret } = await fleet.ask<{ secret: string }>('POST', '/v1/tokens', {
    name: 'looks',
    role: 'viewer',
  })
  const page = await openPage(browser, fleet, { expected: /403/ })
  await signIn(page, secret, '/batches')
  for (const path of pages.filter((one) => !/edit|add-|all/.test(one))) {
    await page.goto(path)
    await untilLive(page)
    const buttons = await page.getByRole('button').allTextContents()
    expect({ path, buttons: buttons.filter((text) => !['Sign out', 'Filter'].includes(text)) }).toEqual({
      path,
      buttons: [],
    })
  }
  for (const path of [
    '/batches/wave-1/start',
    '/batches/wave-1/reset',
    `/queue/${blocked.id}/cancel`,
    `/queue/${blocked.id}/remove`,
    '/queue/all/cancel?batch=hostile',
    '/add-batch',
  ])
    expect({
      path,
      status: await page.evaluate<number>(
        `fetch('${path}', { method: 'POST', body: new URLSearchParams() }).then((r) => r.status)`,
      ),
    }).toEqual({ path, status: 403 })
})

test.each(['light', 'dark'] as const)(
  'every page of migration can be read and heard, in %s colours',
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

test('no page of migration is wider than a phone', async () => {
  const page = await signedIn(browser, fleet, '/', { viewport: { width: 360, height: 740 } })
  for (const path of pages) {
    await page.goto(path)
    await untilLive(page)
    const wider = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
    expect({ path, wider }).toEqual({ path, wider: 0 })
  }
})
