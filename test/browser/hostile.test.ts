import { expect, test } from 'vitest'
import { readConfig } from '../../src/config/config.ts'
import { runApi } from '../../src/roles/api.ts'
import { makeHostileFleet } from '../api/console/hostile-fleet.ts'
import { clientOf, depsOver } from '../api/setup.ts'
import { adminEnv, adminToken } from '../support/admin-token.ts'
import { atEnd } from '../support/cleanup.ts'
import { createDatabase } from '../support/postgres.ts'
import { openPage, patienceMs, signIn, startBrowser, untilLive } from './browser.ts'

/** What only a browser can tell of hostile words: that nothing of them runs, and how the line reads. */

const { db, url: databaseUrl } = await createDatabase()
const limits = { requestsPerSecond: 10_000, requestsBurst: 10_000 }
await makeHostileFleet(db, clientOf(depsOver(db, { limits })))
const api = await runApi(
  readConfig({
    ...{ DATABASE_URL: databaseUrl, DROVER_SECRET_KEY: '5'.repeat(64), DROVER_PORT: '0' },
    ...{ DROVER_LOG_LEVEL: 'silent', ...adminEnv },
  }),
)
atEnd(() => api.stop())
const url = `http://127.0.0.1:${api.port}`
const browser = await startBrowser()

const one = async (table: string, where = 'true'): Promise<string> => {
  const [row] = await db.unsafe<{ id: string }[]>(
    `select id from ${table} where ${where} order by id limit 1`,
  )
  if (!row) throw new Error(`There is no ${table} where ${where}.`)
  return row.id
}

/** Of each name whether it is drawn as it is written: behind a control that turns it, its end is left of its beginning. */
const drawn = `(() => {
  const found = []
  const walker = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT)
  while (walker.nextNode()) {
    const { data } = walker.currentNode
    const from = data.indexOf('gpj', data.indexOf('photo'))
    const to = data.indexOf('.exe', from)
    if (from < 0 || to < 0) continue
    const box = (at, length) => {
      const range = document.createRange()
      range.setStart(walker.currentNode, at)
      range.setEnd(walker.currentNode, at + length)
      return range.getBoundingClientRect()
    }
    const [left, right] = [box(from, 1), box(to + 3, 1)]
    if (left.width > 0) found.push(left.top < right.top - 1 || left.left < right.left)
  }
  return found
})()`

test.each([
  ['an entry in conflict', `/queue/${await one('entry', "state = 'conflict'")}`],
  ['an entry whose source is off', `/queue/${await one('entry', 'source_stopped_at is not null')}`],
  ['a batch', '/batches/wave-1'],
  ['the members of a batch', '/batches/wave-1/instances'],
  ['a plan', `/batches/wave-1/plans/${await one('batch_plan')}`],
  ['a certificate', `/certificates/${await one('certificate')}`],
  ['an operation', `/operations/${await one('operation', "state = 'failed'")}`],
  ['a failed job', `/jobs/${await one('job', "state = 'failed'")}`],
])(
  'on the page of %s no word of a platform runs, and none turns its line around',
  async (_what, path) => {
    const page = await openPage(browser, { url })
    await signIn(page, adminToken, path)
    // Also after the parts of the page were sent once more.
    await untilLive(page)
    expect(await page.locator('main script, main img, main iframe, main b, main [onmouseover]').count()).toBe(
      0,
    )
    expect(await page.title()).not.toBe('owned')
    await page.evaluate(`for (const one of document.querySelectorAll('main details')) one.open = true`)
    const directions = await page.evaluate<boolean[]>(drawn)
    expect(directions.length).toBeGreaterThan(0)
    expect(directions).not.toContain(false)
  },
  patienceMs * 2,
)
