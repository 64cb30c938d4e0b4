import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'

/** Runs a file of ./in-page there. They are JavaScript, because only they know a document. */
const ask = (page: Page, file: string): Promise<string[]> => {
  const text = readFileSync(new URL(`./in-page/${file}`, import.meta.url), 'utf8')
  return page.evaluate<string[]>(
    `(${text.slice(text.indexOf('export default ') + 'export default '.length)})()`,
  )
}

/** What is wrong with a page for those who do not see it, or not well; empty is good. */
export const accessibilityFaults = (page: Page): Promise<string[]> => ask(page, 'accessibility-faults.js')

/** Text that is too pale for its ground, by WCAG AA. */
export const contrastFaults = (page: Page): Promise<string[]> => ask(page, 'contrast-faults.js')
