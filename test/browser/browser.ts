import { existsSync } from 'node:fs'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import { atEnd } from '../support/cleanup.ts'
import { until } from '../support/wait.ts'
import type { Fleet } from './fleet.ts'

/** No page of ours takes longer, also when the machine does ten other things. */
export const patienceMs = 90_000

const findChromium = (): string => {
  const paths = (process.env.PATH ?? '').split(':').map((dir) => `${dir}/chromium`)
  const found = paths.find((path) => existsSync(path))
  if (found === undefined) throw new Error('Chromium is missing. Run as root: apt-get install chromium')
  return found
}

/** One browser for a file, ended with it. */
export const startBrowser = async (): Promise<Browser> => {
  const browser = await chromium.launch({
    executablePath: findChromium(),
    args: [
      ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync'],
      ...['--disable-background-networking', '--disable-component-update'],
    ],
  })
  atEnd(() => browser.close())
  return browser
}

interface OpenOptions extends BrowserContextOptions {
  /** Errors in the browser's console that the test means to cause. */
  readonly expected?: RegExp
}

/**
 * A fresh profile with one page. At the end of the test the browser must have had nothing to complain about: no
 * error in its console, none thrown, nothing refused by the page's own policy, no request to anywhere else.
 */
export const openPage = async (
  browser: Browser,
  fleet: Pick<Fleet, 'url'>,
  options: OpenOptions = {},
): Promise<Page> => {
  const { expected, ...context } = options
  const profile = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    baseURL: fleet.url,
    ...context,
  })
  profile.setDefaultTimeout(patienceMs)
  const complaints: string[] = []
  const page = await profile.newPage()
  const complain = (text: string) => {
    if (!expected?.test(text)) complaints.push(text)
  }
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complain(message.text())
  })
  page.on('pageerror', (error) => complain(String(error)))
  page.on('request', (request) => {
    if (!request.url().startsWith(fleet.url) && !request.url().startsWith('data:'))
      complain(`asked ${request.url()}`)
  })
  onTestFinished(async () => {
    await profile.close()
    expect(complaints).toEqual([])
  }, patienceMs)
  return page
}

/** Signs in with the form, as a person does. */
export const signIn = async (page: Page, token: string, next = '/'): Promise<void> => {
  await page.goto(next)
  await page.getByLabel('Token').fill(token)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL((url) => url.pathname !== '/login')
}

export const signedIn = async (
  browser: Browser,
  fleet: Fleet,
  next = '/',
  options: OpenOptions = {},
): Promise<Page> => {
  const page = await openPage(browser, fleet, options)
  await signIn(page, fleet.adminToken, next)
  return page
}

export const untilLive = (page: Page): Promise<void> =>
  page.locator('#connection[data-state="live"]').waitFor()

/** Does what leads to another page, and waits until that is here, whole: the old one may say the same already. */
export const toNewPage = async (page: Page, act: () => Promise<void>): Promise<void> => {
  await page.evaluate('window.isOld = true')
  await act()
  await until(() => page.evaluate<boolean>(`window.isOld !== true && document.readyState === 'complete'`), {
    what: 'the next page',
    withinMs: patienceMs,
  })
}

/** Presses Tab until what has the focus is called so. */
export const tabTo = async (page: Page, name: string): Promise<void> => {
  for (let presses = 0; presses < 120; presses += 1) {
    await page.keyboard.press('Tab')
    const text = await page.evaluate<string>(
      `(document.activeElement?.labels?.[0]?.textContent ?? document.activeElement?.textContent ?? '').trim()`,
    )
    if (text.startsWith(name)) return
  }
  throw new Error(`No Tab leads to "${name}".`)
}
