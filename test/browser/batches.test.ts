import { expect, test } from 'vitest'
import { until } from '../support/wait.ts'
import { accessibilityFaults, contrastFaults } from './accessibility.ts'
import { patienceMs, signedIn, startBrowser, tabTo, toNewPage, untilLive } from './browser.ts'
import { startMigrationLab } from './migration-lab.ts'

const { fleet, lab, define, entriesOf, entryOf, readSource } = await startMigrationLab()
const browser = await startBrowser()

/** More than the page of a batch lists of one state. */
const moved = Array.from({ length: 12 }, (_, at) => `vm-${101 + at}`)

const inState = async (state: string) => (await entriesOf('moved')).filter((entry) => entry.state === state)

// Twelve machines leave the folder between the definition and the start, so each of them conflicts; two are blocked.
await define('moved', 'location.matches("^/Paris/vm/(shop|office|network)/") || name == "erp-rdm"')
for (const vm of moved)
  await lab.admin(`PATCH /lab/sites/vcenter/instances/${vm}`, { folder: '/Paris/vm/archive' })
await readSource()
await fleet.ask('POST', '/v1/batches/moved/:start')
await until(
  async () => (await inState('conflict')).length === 12 && (await inState('blocked')).length === 2,
  {
    what: 'the entries',
    withinMs: patienceMs,
  },
)

const confirmPage = '/queue/all/cancel?batch=moved&state=conflict'

test('what waits for a person is told apart from what heals by itself, and ends with a number', async () => {
  const page = await signedIn(browser, fleet, '/')
  await untilLive(page)
  await page.locator('#warnings').getByText('12 machines wait for you to decide a conflict.').waitFor()
  const line = page.locator('#migrations tr', { hasText: 'moved' })
  await line.getByText('0 of 14').waitFor()
  await line.getByRole('link', { name: '12 in conflict' }).waitFor()
  await line.getByRole('link', { name: 'moved', exact: true }).click()
  await page.waitForURL('**/batches/moved')
  await untilLive(page)
  expect(await page.locator('#needy tbody tr').count()).toBe(10)
  expect(await page.locator('#needy').textContent()).not.toContain('erp-rdm')
  expect(await page.locator('#held').textContent()).toContain('erp-rdm')
  await page.locator('#needy').getByRole('link', { name: 'And 2 more in conflict' }).click()
  await page.waitForURL('**/queue?batch=moved&state=conflict')
  expect(await page.locator('#entries tbody tr').count()).toBe(12)
})

test('the machines of a batch are listed with their standing and why', async () => {
  const page = await signedIn(browser, fleet, '/batches/moved')
  await page.getByRole('link', { name: 'Which machines belong to it' }).click()
  await page.waitForURL('**/batches/moved/instances')
  await untilLive(page)
  const row = (name: string) => page.locator('#members tr', { hasText: name })
  await row('erp-rdm').getByText('raw device mapping').waitFor()
  await row('twin-a').getByText('The include expression does not match it.').waitFor()
  await toNewPage(page, () => page.getByRole('link', { name: 'excluded', exact: true }).click())
  expect(await row('twin-a').count()).toBe(1)
  expect(await row('erp-rdm').count()).toBe(0)
})

test('a plan that is no longer the newest can still be read, by standing', async () => {
  const plans = async () =>
    (await fleet.ask<{ items: { id: string }[] }>('GET', '/v1/batches/later/plans')).items
  await define('later', 'name == "stubborn" || name == "mute"')
  for (const count of [1, 2]) {
    const { id } = await fleet.ask<{ id: string }>('POST', '/v1/batches/later/:plan')
    const state = async () => (await fleet.ask<{ state: string }>('GET', `/v1/jobs/${id}`)).state
    await until(async () => (await state()) === 'succeeded', { what: 'a plan', withinMs: patienceMs })
    expect(await plans()).toHaveLength(count)
  }
  const [, older] = await plans()
  const page = await signedIn(browser, fleet, '/batches/later')
  await page.getByRole('link', { name: 'an older one' }).click()
  await page.waitForURL('**/batches/later/plans')
  await page.locator('#plans tbody tr').nth(1).getByRole('link').click()
  await page.waitForURL(`**/batches/later/plans/${older?.id}`)
  expect(await page.locator('#items tbody tr').count()).toBe(2)
  await toNewPage(page, () => page.getByRole('link', { name: 'goes', exact: true }).click())
  await page.locator('#items', { hasText: 'None of them.' }).waitFor()
})

test('the keyboard alone takes an entry off the list, and not by a slip', async () => {
  const { id } = await entryOf('moved', 'erp-rdm')
  const page = await signedIn(browser, fleet, `/queue/${id}`)
  await untilLive(page)
  await tabTo(page, 'Take it off the list')
  await page.keyboard.press('Enter')
  await tabTo(page, 'Yes, this entry')
  await page.keyboard.press('Space')
  await tabTo(page, 'Take it off')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/batches/moved?notice=entry-removed')
  await page.getByText('It is off the list. A machine that was migrated stays.').waitFor()
  expect((await entriesOf('moved')).map(({ name }) => name)).not.toContain('erp-rdm')
})

test('many are cancelled at once, and only as many as were seen', async () => {
  const page = await signedIn(browser, fleet, '/batches/moved', { expected: /409/ })
  await page.locator('#needy').getByRole('link', { name: 'Cancel all' }).click()
  await page.waitForURL(`**${confirmPage}`)
  await page.getByText('12 entries').first().waitFor()
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    expect([await accessibilityFaults(page), await contrastFaults(page)]).toEqual([[], []])
  }
  const { id } = await entryOf('moved', 'web-01')
  await fleet.ask('POST', `/v1/queue/${id}/:cancel`, {})
  await page.getByLabel('Yes, all 12').check()
  await toNewPage(page, () => page.getByRole('button', { name: 'Cancel 12 entries' }).click())
  await page.getByRole('alert').getByText('Nothing was changed.').waitFor()
  expect(await inState('canceled')).toHaveLength(1)
  await page.getByLabel('Yes, all 11').check()
  await toNewPage(page, () => page.getByRole('button', { name: 'Cancel 11 entries' }).click())
  await page.getByText('11 done').waitFor()
  expect(await inState('canceled')).toHaveLength(12)
  await page.getByRole('link', { name: 'to the batch moved' }).click()
  await page.waitForURL('**/batches/moved')
  await page.getByRole('link', { name: '12 canceled' }).waitFor()
})

test('who is off because of a stopped batch is the first thing that its page, the overview and every question say', async () => {
  const { db } = fleet.database
  const end = new Date(Date.now() + 3_600_000).toISOString()
  await define('halted', 'name == "stubborn" || name == "mute"')
  const windows = [{ name: 'night', start: null, end }]
  const { defaults, include_expression } = await fleet.ask<Record<string, unknown>>(
    'GET',
    '/v1/batches/halted',
  )
  await fetch(`${fleet.url}/v1/batches/halted`, {
    method: 'PUT',
    headers: {
      authorization: `Bearer ${fleet.adminToken}`,
      'content-type': 'application/json',
      'if-match': '*',
    },
    body: JSON.stringify({ name: 'halted', include_expression, defaults, migration_windows: windows }),
  })
  await fleet.ask('POST', '/v1/batches/halted/:start')
  await until(async () => (await entriesOf('halted')).length === 2, {
    what: 'the entries',
    withinMs: patienceMs,
  })
  await fleet.ask('POST', '/v1/batches/halted/:stop')
  // As a stop in the middle of two cutovers leaves them.
  await db`update entry set state = 'worker-done', stage = 'complete', source_stopped_at = now(), job_id = null,
    window_id = (select id from batch_window where name = 'night')
    where batch_id = (select id from batch where name = 'halted')`
  const page = await signedIn(browser, fleet, '/batches/halted')
  await untilLive(page)
  const said = page.locator('#state .down')
  await said.getByText('2 machines are off for their migration').waitFor()
  await said
    .getByText('Its batch is stopped: it is switched on again when its window "night" ends.')
    .first()
    .waitFor()
  await page.locator('summary', { hasText: 'Reset it' }).click()
  await page.getByText('Each is switched on again, once its copy is proved off.').waitFor()
  expect(await accessibilityFaults(page)).toEqual([])
  expect(await contrastFaults(page)).toEqual([])
  await page.screenshot({ path: 'test-results/batch-down.png', fullPage: true })
  await page.goto('/')
  await untilLive(page)
  await page.locator('#down', { hasText: '2 machines are off for their migration' }).waitFor()
  expect(await accessibilityFaults(page)).toEqual([])
  expect(await contrastFaults(page)).toEqual([])
  await page.screenshot({ path: 'test-results/overview-down.png' })
  await page.goto('/queue/all/cancel?batch=halted')
  await page.getByText('2 machines are off for their migration').waitFor()
  await page.screenshot({ path: 'test-results/cancel-down.png' })
  await page.goto(`/queue/${(await entryOf('halted', 'mute')).id}`)
  await untilLive(page)
  await page.locator('#state .down', { hasText: 'Its source is off' }).waitFor()
  await page.screenshot({ path: 'test-results/entry-down.png' })
})
