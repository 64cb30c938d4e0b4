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

interface Machine {
  readonly id: string
  readonly name: string
  readonly ref: string
  readonly phase: string
  readonly version: number
}

interface Operation {
  readonly id: string
  readonly kind: string
  readonly state: string
  readonly superseded_by: string | null
}

await fleet.ask('POST', '/v1/targets', {
  ...{ name: 'oslo', kind: 'lab', endpoint: lab.endpoint('vcenter') },
  ...{ username: 'drover', password: lab.password },
})

const machinesOf = async (query = ''): Promise<readonly Machine[]> =>
  (await fleet.ask<{ items: Machine[] }>('GET', `/v1/machines?limit=200${query}`)).items

await until(async () => (await machinesOf()).length > 5, {
  what: 'the machines of oslo to be known',
  withinMs: patienceMs,
})

const running = (await machinesOf('&phase=running')).slice()

/** A running machine that no other test uses. */
const take = (): Machine => {
  const machine = running.shift()
  if (!machine) throw new Error('There are too few machines in the lab.')
  return machine
}

/** One whose guest does not hear that it is to shut down: a stop of it stays open. */
const takeDeaf = async (): Promise<Machine> => {
  const machine = take()
  await lab.admin(`PATCH /lab/sites/vcenter/instances/${machine.ref}`, { shutdown: 'hangs' })
  return machine
}

const ask = (machine: Machine, kind: string, more: object = {}): Promise<Operation> =>
  fleet.ask('POST', '/v1/operations', { machine: machine.id, kind, ...more })

const operation = (id: string): Promise<Operation> => fleet.ask('GET', `/v1/operations/${id}`)

const untilState = (id: string, state: string): Promise<unknown> =>
  until(async () => (await operation(id)).state === state, {
    what: `it to be ${state}`,
    withinMs: patienceMs,
  })

const token = (role: 'viewer' | 'operator'): Promise<{ secret: string }> =>
  fleet.ask('POST', '/v1/tokens', { name: `a-${role}`, role })

test('a stop that the guest ignores gives way to a stop by force, and looks like neither success nor failure', async () => {
  const machine = await takeDeaf()
  const page = await signedIn(browser, fleet, `/machines/${machine.id}`)
  await untilLive(page)
  await page.getByRole('button', { name: 'Shut down' }).click()
  await page.getByText('It is asked for').waitFor()
  await page.locator('#state', { hasText: /stop.*running/ }).waitFor()
  await page.screenshot({ path: 'test-results/machine-stopping.png', fullPage: true })
  await page.locator('summary', { hasText: 'Stop by force' }).click()
  await page.getByLabel(/I know that the plug is pulled/).check()
  await toNewPage(page, () => page.getByRole('button', { name: 'Stop by force' }).click())
  await page.locator('#state .badge', { hasText: 'stopped' }).waitFor()
  const older = page.locator('#history tr', { hasText: 'superseded' })
  await older.waitFor()
  expect(await older.locator('.badge').getAttribute('class')).toBe('badge is-superseded')
  await page.screenshot({ path: 'test-results/machine-stopped.png', fullPage: true })

  await older.getByRole('rowheader').getByRole('link').click()
  await page.locator('#state .badge.is-superseded').waitFor()
  expect(await page.locator('#state .is-succeeded, #state .is-failed').count()).toBe(0)
  await page.screenshot({ path: 'test-results/operation-superseded.png', fullPage: true })
  await page.locator('#state').getByRole('link').first().click()
  await page.getByText(/It took the place of/).waitFor()
  await page.locator('#state .badge', { hasText: 'completed' }).waitFor()
})

test('what is queued shows its place and who is in the way, until a person cancels it', async () => {
  const machine = await takeDeaf()
  const first = await ask(machine, 'stop')
  await untilState(first.id, 'running')
  const second = await ask(machine, 'restart', { force: true, on_conflict: 'queue' })
  const page = await signedIn(browser, fleet, '/operations')
  await untilLive(page)
  const row = page.locator(`#open tr[data-key="${second.id}"]`)
  await row.getByText('1 operation before it').waitFor()
  await page.screenshot({ path: 'test-results/operations.png', fullPage: true })
  expect(await row.getByRole('link', { name: `Operation …${first.id.slice(-8)}` }).count()).toBe(1)
  await row.getByRole('button', { name: /Cancel/ }).click()
  await page.getByText('It is canceled').waitFor()
  await page.locator(`#ended tr[data-key="${second.id}"] .badge`, { hasText: 'canceled' }).waitFor()
  await page.goto(`/operations/${first.id}`)
  await untilLive(page)
  await page.getByText('Ends when:').waitFor()
  await page.screenshot({ path: 'test-results/operation-waiting.png', fullPage: true })
  await toNewPage(page, () => page.getByRole('button', { name: 'Cancel it' }).click())
  await page.locator('#state .badge', { hasText: 'canceled' }).waitFor()
})

test('the overview says what is at machines and why, and what went wrong lately', async () => {
  const machine = await takeDeaf()
  const lost = take()
  const stop = await ask(machine, 'stop')
  const restore = await ask(lost, 'restore', { params: { snapshot: 'nobody made it' } })
  await untilState(restore.id, 'failed')
  const page = await signedIn(browser, fleet, '/')
  await untilLive(page)
  await page.locator('#operations tr', { hasText: 'The guest was asked to go down' }).waitFor()
  const failed = page.locator(`#operations tr[data-key="${restore.id}"]`)
  expect(await failed.textContent()).toMatch(/restore.*has no .*nobody made it/s)
  expect(await failed.getByRole('link', { name: lost.name }).count()).toBe(1)
  await page.screenshot({ path: 'test-results/overview-operations.png', fullPage: true })
  await fleet.ask('POST', `/v1/operations/${stop.id}/:cancel`)
  // What has ended goes from there by itself.
  await page
    .locator('#operations tr', { hasText: 'The guest was asked to go down' })
    .waitFor({ state: 'detached' })
  await page.locator('#operations').getByRole('link', { name: 'Machines' }).click()
  await page.getByRole('heading', { level: 1, name: 'Machines' }).waitFor()
})

test('what the matrix refuses is said on the page of the machine, with who is in the way', async () => {
  const machine = await takeDeaf()
  const first = await ask(machine, 'stop')
  await untilState(first.id, 'running')
  const page = await signedIn(browser, fleet, `/machines/${machine.id}`, { expected: /409/ })
  await page.getByLabel('Where another operation is at the machine').first().selectOption('reject')
  await page.getByRole('button', { name: 'Start', exact: true }).click()
  await page.getByRole('alert').getByText('Nothing was changed.').waitFor()
  expect(await page.getByRole('alert').textContent()).toContain(first.id)
  expect((await operation(first.id)).state).toBe('running')
})

test('many machines are asked at once, when a person has seen how many and what becomes of each', async () => {
  const chosen = [take(), take(), await takeDeaf()]
  const busy = await ask(chosen[2] as Machine, 'stop')
  await untilState(busy.id, 'running')
  const page = await signedIn(browser, fleet, '/machines')
  await untilLive(page)
  await page.screenshot({ path: 'test-results/machines.png', fullPage: true })
  for (const { name } of chosen) await page.getByLabel(`Choose ${name}`, { exact: true }).check()
  await page.getByLabel('Ask', { exact: true }).selectOption('restart')
  await page.getByRole('button', { name: 'of the chosen…' }).click()
  await page.getByText('3 machines are meant.').or(page.getByText('3 machines')).first().waitFor()
  await page.getByText('1 would be refused').waitFor()
  await page.screenshot({ path: 'test-results/machines-bulk.png', fullPage: true })
  await page.getByRole('button', { name: 'Restart 3 machines' }).click()
  expect(await page.evaluate(`document.getElementById('sure').validity.valueMissing`)).toBe(true)
  await page.locator('#sure').check()
  await page.getByRole('button', { name: 'Restart 3 machines' }).click()
  await page.getByText('2 asked, 1 refused.').waitFor()
  await page.screenshot({ path: 'test-results/machines-bulk-result.png', fullPage: true })
})

test('who is to decide whether a machine runs is changed by one at a time', async () => {
  const machine = take()
  const path = `/machines/${machine.id}`
  const page = await signedIn(browser, fleet, path)
  const late = await signedIn(browser, fleet, path, { expected: /412/ })
  await page.getByLabel('Who decides whether it runs').selectOption('always-on')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved.').waitFor()
  await page.getByText('Not under the run policy always-on: start, stop').waitFor()
  // In one go: the page is live, and between two steps it may have been brought up to date.
  await late.evaluate(`{
    const form = document.querySelector('[name=version]').form
    form.querySelector('[name=version]').value = '${machine.version}'
    form.querySelector('select').value = 'always-off'
    form.requestSubmit()
  }`)
  await late.getByText('Nothing was changed.').waitFor()
  expect(await late.getByLabel('Who decides whether it runs').inputValue()).toBe('always-off')
})

test('a machine is operated by keyboard alone, and without scripts', async () => {
  const machine = take()
  const page = await signedIn(browser, fleet, `/machines/${machine.id}`, { javaScriptEnabled: false })
  await page.getByRole('button', { name: 'Shut down' }).focus()
  await page.keyboard.press('Enter')
  await page.getByText('It is asked for').waitFor()
  await until(
    async () => (await fleet.ask<Machine>('GET', `/v1/machines/${machine.id}`)).phase === 'stopped',
    {
      what: 'it to be off',
      withinMs: patienceMs,
    },
  )
  await page.reload()
  await page.locator('#state .badge', { hasText: 'stopped' }).waitFor()
})

test('Tab leads to every verb, and a filter with a mistake names it', async () => {
  const machine = take()
  const page = await signedIn(browser, fleet, `/machines/${machine.id}`)
  for (const name of ['Shut down', 'Restart', 'Stop by force', 'Take a snapshot']) await tabTo(page, name)
  await page.goto('/machines')
  await page.getByLabel('Filter (CEL)').fill('phas == "running"')
  await page.keyboard.press('Enter')
  await page.getByRole('alert').getByText('Did you mean phase?').waitFor()
})

const pages = async (): Promise<readonly string[]> => {
  const [first] = await machinesOf()
  const { items } = await fleet.ask<{ items: Operation[] }>('GET', '/v1/operations')
  const superseded = items.find(({ state }) => state === 'superseded') ?? items[0]
  return [
    '/machines',
    '/machines?filter=nothing_known',
    `/machines/${first?.id}`,
    '/operations',
    '/operations?filter=nothing_known',
    `/operations/${superseded?.id}`,
  ]
}

test('a viewer sees every machine and operation, and can press nothing', async () => {
  const { secret } = await token('viewer')
  const page = await openPage(browser, fleet, { expected: /403/ })
  await signIn(page, secret, '/machines')
  for (const path of await pages()) {
    await page.goto(path)
    await untilLive(page)
    const buttons = await page.getByRole('button').allTextContents()
    expect({ path, buttons: buttons.filter((text) => !['Sign out', 'Filter'].includes(text)) }).toEqual({
      path,
      buttons: [],
    })
  }
  const [first] = await machinesOf()
  const post = (path: string) =>
    page.evaluate<number>(
      `fetch('${path}', { method: 'POST', body: new URLSearchParams() }).then((r) => r.status)`,
    )
  for (const path of [`/machines/${first?.id}`, '/machines/all?kind=stop'])
    expect({ path, status: await post(path) }).toEqual({ path, status: 403 })
})

test('no page of machines and operations is wider than a phone', async () => {
  const page = await signedIn(browser, fleet, '/', { viewport: { width: 360, height: 740 } })
  for (const path of [...(await pages()), '/machines/all?kind=stop&target=oslo&meant=all']) {
    await page.goto(path)
    await untilLive(page)
    const wider = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
    expect({ path, wider }).toEqual({ path, wider: 0 })
  }
  await page.goto('/machines')
  await page.screenshot({ path: 'test-results/machines-phone.png' })
})

test.each(['light', 'dark'] as const)(
  'every page of machines and operations can be read and heard, in %s colours',
  async (colorScheme) => {
    const page = await signedIn(browser, fleet, '/', { colorScheme })
    for (const path of [...(await pages()), '/machines/all?kind=stop%21&target=oslo&meant=all']) {
      await page.goto(path)
      await untilLive(page)
      expect({ path, faults: await accessibilityFaults(page) }).toEqual({ path, faults: [] })
      expect({ path, faults: await contrastFaults(page) }).toEqual({ path, faults: [] })
    }
  },
)
