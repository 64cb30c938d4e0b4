import type { Page } from 'playwright-core'
import { v7 as uuidv7 } from 'uuid'
import { expect, test } from 'vitest'
import { addInstance, addMigrated, addSite } from '../api/inventory/inventory-rows.ts'
import { until } from '../support/wait.ts'
import { sampleInstance } from '../unit/inventory/samples.ts'
import { accessibilityFaults, contrastFaults } from './accessibility.ts'
import { openPage, patienceMs, signedIn, signIn, startBrowser, untilLive } from './browser.ts'
import { addJob, startFleet } from './fleet.ts'

const fleet = await startFleet()
const browser = await startBrowser()
const failed = await addJob(fleet, { outcome: 'fail' })
await addJob(fleet, { outcome: 'fail' })
await fleet.ask('POST', '/v1/self-tests', { jobs: 5, steps: 1, step_ms: 10 })

const pages = ['/', '/jobs', '/failed', '/effects', '/workers', '/events', `/jobs/${failed.id}`]

const focusName = `(document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent ?? '').trim()`

/** Presses Tab until what has the focus fits. */
const tabTo = async (page: Page, name: string): Promise<void> => {
  for (let presses = 0; presses < 80; presses += 1) {
    await page.keyboard.press('Tab')
    const text = await page.evaluate<string>(focusName)
    if (text.startsWith(name)) return
  }
  throw new Error(`No Tab leads to "${name}".`)
}

test.each(['light', 'dark'] as const)(
  'every page can be read and heard, in %s colours',
  async (colorScheme) => {
    const page = await signedIn(browser, fleet, '/', { colorScheme })
    for (const path of pages) {
      await page.goto(path)
      await untilLive(page)
      expect({ path, faults: await accessibilityFaults(page) }).toEqual({ path, faults: [] })
      expect({ path, faults: await contrastFaults(page) }).toEqual({ path, faults: [] })
    }
    if (colorScheme === 'dark') await page.screenshot({ path: 'test-results/job-dark.png', fullPage: true })
  },
)

test('a control without a name and text that is too pale are found', async () => {
  const page = await signedIn(browser, fleet)
  await page.evaluate(`document.querySelector('main').insertAdjacentHTML('beforeend',
    '<input id="bare"><h4>deep</h4><p class="dim" id="pale">pale</p>')
    document.adoptedStyleSheets = [new CSSStyleSheet()]
    document.adoptedStyleSheets[0].replaceSync('#pale { color: #ccc; background: #fff }')`)
  expect((await accessibilityFaults(page)).join()).toMatch(/no label.*bare|level 4 skips/)
  expect((await contrastFaults(page)).join()).toContain('"pale"')
})

test('no page is wider than a phone', async () => {
  const page = await signedIn(browser, fleet, '/', { viewport: { width: 360, height: 740 } })
  for (const path of pages) {
    await page.goto(path)
    await untilLive(page)
    const wider = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
    expect({ path, wider }).toEqual({ path, wider: 0 })
  }
  await page.goto('/')
  await untilLive(page)
  await page.screenshot({ path: 'test-results/phone.png', fullPage: true })
})

test('the keyboard alone skips the menu, finds a failed job and runs it again', async () => {
  const page = await signedIn(browser, fleet)
  await page.keyboard.press('Tab')
  expect(await page.evaluate('document.activeElement.className')).toBe('skip')
  expect((await page.locator('.skip').boundingBox())?.x).toBeGreaterThanOrEqual(0)
  await page.keyboard.press('Enter')
  expect(await page.evaluate('document.activeElement.id')).toBe('main')
  await page.goto('/')
  await tabTo(page, 'Failed')
  const outline = await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')
  expect(outline).toBe('solid')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/failed')
  await tabTo(page, 'Job …')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/jobs/*')
  await tabTo(page, 'Retry')
  await page.keyboard.press('Enter')
  await page.getByText('The job is ready to run again.').waitFor()
})

test('what has the focus keeps it while the page around it changes', async () => {
  const page = await signedIn(browser, fleet)
  await untilLive(page)
  await page.locator('#kinds a', { hasText: 'final-verify' }).focus()
  await page.evaluate(`window.changed = 0
    new MutationObserver(() => { window.changed += 1 })
      .observe(document.getElementById('parts'), { subtree: true, childList: true, characterData: true })`)
  const changes = async () => {
    // However seldom a busy machine makes the page anew: there is always something new to show.
    await fleet.ask('POST', '/v1/self-tests', { jobs: 8, failing: 1, steps: 1, step_ms: 100 })
    return page.evaluate<number>('window.changed')
  }
  await until(async () => (await changes()) > 5, {
    what: 'the page to change',
    withinMs: patienceMs,
    everyMs: 500,
  })
  expect(await page.evaluate('document.activeElement.textContent')).toBe('final-verify')
})

test('what is typed into a form stays while the page around it changes', async () => {
  const page = await signedIn(browser, fleet, '/jobs')
  await untilLive(page)
  await page.getByLabel('Lane').fill('batch/half-ty')
  const { id } = await addJob(fleet, {})
  await page.locator(`tr[data-key="${id}"] .is-succeeded`).waitFor()
  expect(await page.getByLabel('Lane').inputValue()).toBe('batch/half-ty')
})

test('without scripts every page is complete, and the buttons work', async () => {
  const { id } = await addJob(fleet, { outcome: 'fail' })
  const page = await openPage(browser, fleet, { javaScriptEnabled: false })
  await signIn(page, fleet.adminToken)
  await page.locator('.batches li').first().waitFor()
  await until(async () => (await fleet.ask<{ state: string }>('GET', `/v1/jobs/${id}`)).state === 'failed', {
    what: 'the job to fail',
    withinMs: patienceMs,
  })
  await page.goto('/failed')
  await page.locator(`tr[data-key="${id}"]`).getByRole('button', { name: 'Retry' }).click()
  await page.getByText('The job is ready to run again.').waitFor()
  expect(new URL(page.url()).pathname).toBe('/failed')
})

test('a viewer sees everything and can press nothing', async () => {
  const { secret } = await fleet.ask<{ secret: string }>('POST', '/v1/tokens', {
    name: 'looker',
    role: 'viewer',
  })
  const page = await openPage(browser, fleet, { expected: /403/ })
  await signIn(page, secret, '/failed')
  await page.locator('#failed tbody tr').first().waitFor()
  expect(await page.getByRole('button').allTextContents()).toEqual(['Sign out'])
  const status = await page.evaluate<number>(
    `fetch('/jobs/${failed.id}/retry', { method: 'POST', body: new URLSearchParams() }).then((r) => r.status)`,
  )
  expect(status).toBe(403)
})

test('text from outside is shown as it is, and never runs', async () => {
  const evil = '<img src=x onerror="document.title=1"><script>document.title=1</script>'
  const { id } = await addJob(fleet, {}, { subject: { type: 'self-test', id: evil }, lane: 'a"><b>' })
  const page = await signedIn(browser, fleet, `/jobs/${id}`)
  await untilLive(page)
  expect(await page.locator('#facts').textContent()).toContain(evil)
  for (const path of ['/jobs', '/events', '/']) {
    await page.goto(path)
    await untilLive(page)
    expect(await page.locator('main img, main script, main b').count()).toBe(0)
  }
})

test('a page that is not there says so, in words and with a way back', async () => {
  const page = await signedIn(browser, fleet, '/', { expected: /404/ })
  await page.goto('/jobs/00000000-0000-7000-8000-000000000000')
  expect(await page.locator('main').textContent()).toContain('There is no job')
  await page.getByRole('link', { name: 'Back to the overview' }).click()
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Overview')
})

test('the board shows the queues and refuses to write', async () => {
  const page = await signedIn(browser, fleet, '/', { expected: /405/ })
  await page.getByRole('link', { name: 'Bull Board' }).click()
  await page.getByText('self-test').first().waitFor()
  const status = await page.evaluate<number>(
    `fetch('/queues/api/queues/self-test/pause', { method: 'PUT' }).then((r) => r.status)`,
  )
  expect(status).toBe(405)
})

test('the page of the API lists its operations and finds one by its words', async () => {
  const page = await signedIn(browser, fleet)
  await page.getByRole('link', { name: 'API', exact: true }).click()
  await page.waitForURL('**/docs')
  await page.getByLabel('Filter operations').fill('waive')
  await page.getByText(/^[1-9] of \d+ operations$/).waitFor()
})

test('a source is removed only with a word that its finished migrations are forgotten, as many as were shown', async () => {
  const { db } = fleet.database
  const site = await addSite(db, 'nice', { quiet: true })
  const ids = await Promise.all(
    ['one', 'two'].map((name, at) =>
      addInstance(db, site, { facts: sampleInstance({ name, ref: `vm-${at}`, uuid: uuidv7() }) }),
    ),
  )
  await addMigrated(db, String(ids[0]), 'to-lyon')
  const page = await signedIn(browser, fleet, '/sources/nice/edit', { expected: /409/ })
  await page.getByText('1 finished migration is forgotten.').waitFor()
  await page.getByText('goes with it: 2 machines.').waitFor()
  const remove = page.getByRole('button', { name: 'Remove nice' })
  await remove.click()
  expect(await page.evaluate(`document.getElementById('sure-finished').validity.valueMissing`)).toBe(true)
  await addMigrated(db, String(ids[1]), 'to-oslo')
  await page.getByLabel('Yes, forget it').check()
  await remove.click()
  await page.getByText('This forgets 2 finished migrations: one, two.').waitFor()
  await page.goto('/sources/nice/edit')
  expect(await accessibilityFaults(page)).toEqual([])
  await page.getByLabel('Yes, forget all 2').check()
  await page.getByRole('button', { name: 'Remove nice' }).click()
  await page.waitForURL('**/sources?**')
  expect(await db`select 1 from site where name = 'nice'`).toHaveLength(0)
})
