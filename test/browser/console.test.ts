import { mkdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { deletePause, insertPause } from '../../db/queries/fleet/pauses.ts'
import { until } from '../support/wait.ts'
import { openPage, patienceMs, signedIn, signIn, startBrowser, untilLive } from './browser.ts'
import { addJob, startFleet } from './fleet.ts'

const fleet = await startFleet()
const { db } = fleet.database
const browser = await startBrowser()
mkdirSync('test-results', { recursive: true })

interface JobView {
  readonly state: string
  readonly generation: number
}

/** Pauses a lane when so many of its jobs have ended, and says how many have when none runs any more. */
const standStillAfter = async (lane: string, least: number): Promise<number> => {
  const count = async () => {
    const [row] = await db<{ ended: number; running: number }[]>`
      select count(*) filter (where finished_at is not null)::int as ended,
        count(*) filter (where state = 'running')::int as running from job where lane = ${lane}`
    return row ?? { ended: 0, running: 0 }
  }
  await until(async () => (await count()).ended >= least, {
    what: `${least} jobs to end`,
    withinMs: patienceMs,
  })
  await db.begin((tx) => insertPause(tx, { scope: 'lane', name: lane, by: 'test', reason: 'looked at' }))
  await until(async () => (await count()).running === 0, { what: 'what runs to end', withinMs: patienceMs })
  return (await count()).ended
}

const jobOf = (id: string): Promise<JobView> => fleet.ask('GET', `/v1/jobs/${id}`)

test('a person signs in with a token, lands where the way led, and signs out', async () => {
  const page = await openPage(browser, fleet, { expected: /401/ })
  await page.goto('/workers')
  await page.getByLabel('Token').fill('a-token-that-is-not-one')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await expect
    .poll(() => page.getByRole('alert').textContent(), { timeout: patienceMs })
    .toContain('not valid')
  await signIn(page, fleet.adminToken, '/workers')
  expect(new URL(page.url()).pathname).toBe('/workers')
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Workers')
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.waitForURL('**/login')
  await page.goto('/')
  expect(new URL(page.url()).pathname).toBe('/login')
})

test('a self-test batch moves to its end before the eyes, without a reload', async () => {
  const page = await signedIn(browser, fleet)
  await untilLive(page)
  await page.evaluate('window.notReloaded = true')
  const { lane } = await fleet.ask<{ lane: string }>('POST', '/v1/self-tests', {
    jobs: 60,
    failing: 3,
    failing_once: 4,
    steps: 3,
    step_ms: 150,
  })
  const batch = page.locator('.batches li', { hasText: lane })
  await batch.waitFor()
  const bar = batch.getByRole('progressbar')
  const shown = async () => Number(await bar.getAttribute('aria-valuenow'))
  // It stands still three times until the page shows just that: otherwise a slow page would see only its end.
  for (const least of [5, 15, 30]) {
    const ended = await standStillAfter(lane, least)
    expect(ended).toBeLessThan(60)
    await until(async () => (await shown()) === ended, {
      what: `the page to show that ${ended} have ended`,
      withinMs: patienceMs,
    })
    if (least === 15) await page.screenshot({ path: 'test-results/overview-running.png' })
    await db.begin((tx) => deletePause(tx, { scope: 'lane', name: lane }, 'test'))
  }
  await until(async () => (await shown()) === 60, { what: 'the batch to end', withinMs: patienceMs })
  await batch.getByText('done', { exact: true }).waitFor()
  expect(await batch.textContent()).toMatch(/57 succeeded\s*3 failed/)
  expect(await page.evaluate<boolean>('window.notReloaded')).toBe(true)
  await page.screenshot({ path: 'test-results/overview-done.png', fullPage: true })
})

test('a failed job says why and what to do, and its button runs it again', async () => {
  const { id } = await addJob(fleet, { outcome: 'fail' })
  const page = await signedIn(browser, fleet, '/failed')
  await page.locator(`tr[data-key="${id}"]`).getByRole('link').click()
  await page.waitForURL(`**/jobs/${id}`)
  await untilLive(page)
  expect(await page.locator('#error').textContent()).toContain('This job was asked to fail, and did.')
  expect(await page.locator('#error').textContent()).toContain('What to do: Nothing to do')
  await page.getByRole('button', { name: 'Retry' }).click()
  await page.getByText('The job is ready to run again.').waitFor()
  await page.locator('#timeline').getByText('redriven').waitFor()
  await until(async () => (await jobOf(id)).generation === 2 && (await jobOf(id)).state === 'failed', {
    what: 'the second generation to fail',
    withinMs: patienceMs,
  })
  await page.locator('#timeline li', { hasText: 'failed' }).nth(1).waitFor()
  await page.getByRole('button', { name: 'Retry' }).waitFor()
  await page.screenshot({ path: 'test-results/job-failed.png', fullPage: true })
})

test('a running job is canceled by its button, and the page shows its end by itself', async () => {
  const { id } = await addJob(fleet, { steps: 1_000, step_ms: 100 })
  const page = await signedIn(browser, fleet, `/jobs/${id}`)
  await page.locator('#state .badge.is-running').waitFor()
  await page.getByRole('button', { name: 'Cancel the job' }).click()
  await page.getByText('The job was asked to end.').waitFor()
  await page.locator('#state .badge.is-canceled').waitFor()
  expect((await jobOf(id)).state).toBe('canceled')
  await page.getByRole('button', { name: 'Retry' }).waitFor()
  expect(await page.getByRole('button', { name: 'Cancel the job' }).count()).toBe(0)
})

test('all failed jobs of a page are retried at once', async () => {
  const page = await signedIn(browser, fleet)
  await page.goto('/failed')
  const before = await page.locator('#failed tbody tr').count()
  expect(before).toBeGreaterThan(1)
  await page.getByRole('button', { name: /^Retry all/ }).click()
  await page.getByText('The jobs are ready to run again.').waitFor()
  const redriven = await db`select 1 from event where type = 'job.redriven'`
  expect(redriven.length).toBeGreaterThanOrEqual(before)
})

test('a job that waits for its turn says what it waits for', async () => {
  await fleet.ask('POST', '/v1/pauses', { scope: 'lane', name: 'held', reason: 'hosts are upgraded' })
  const { id } = await addJob(fleet, {}, { lane: 'held' })
  const page = await signedIn(browser, fleet, `/jobs/${id}`)
  expect(await page.locator('#wait').textContent()).toContain('paused the lane held: hosts are upgraded')
  await page.goto('/')
  await page.locator('.warnings', { hasText: 'The lane held is paused' }).waitFor()
  await page.getByRole('button', { name: 'Resume lane held' }).click()
  await page.getByText('It goes on.').waitFor()
  await until(async () => (await jobOf(id)).state === 'succeeded', {
    what: 'the job to run',
    withinMs: patienceMs,
  })
})

test('a list is narrowed down by its form, and goes on over pages', async () => {
  const page = await signedIn(browser, fleet, '/jobs')
  await page.getByLabel('Kind').selectOption('self-test')
  await page.getByLabel('State').selectOption('succeeded')
  await page.getByRole('button', { name: 'Filter' }).click()
  await page.waitForURL(/state=succeeded/)
  const states = await page.locator('#jobs .badge').allTextContents()
  expect(new Set(states)).toEqual(new Set(['succeeded']))
  const first = await page.locator('#jobs tbody tr').first().getAttribute('data-key')
  await page.getByRole('link', { name: 'Older' }).click()
  await page.waitForURL(/cursor=/)
  expect(await page.locator(`tr[data-key="${first}"]`).count()).toBe(0)
  await page.getByRole('link', { name: 'The newest' }).click()
  await page.locator(`tr[data-key="${first}"]`).waitFor()
})

test('the fleet losing its worker, and getting one again, shows by itself', async () => {
  const page = await signedIn(browser, fleet)
  await untilLive(page)
  await fleet.worker.stop(patienceMs)
  const warning = page.locator('.warnings', { hasText: 'No worker is alive' })
  await warning.waitFor()
  const { id } = await addJob(fleet, {})
  await page.locator('#waiting', { hasText: 'No living worker runs self-test jobs.' }).waitFor()
  await fleet.startWorker()
  await warning.waitFor({ state: 'detached' })
  await until(async () => (await jobOf(id)).state === 'succeeded', {
    what: 'the job to run',
    withinMs: patienceMs,
  })
})
