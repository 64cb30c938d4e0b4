import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

const readAsset = (name: string, type: string) => {
  const body = readFileSync(new URL(`../assets/${name}`, import.meta.url), 'utf8')
  const hash = createHash('sha256').update(body).digest('hex').slice(0, 12)
  return { path: `/assets/${name}`, url: `/assets/${name}?v=${hash}`, body, type }
}

const css = readAsset('console.css', 'text/css; charset=utf-8')
const js = readAsset('console.js', 'text/javascript; charset=utf-8')

export const assets = [css, js]

/** Addresses of the page's files, with their content's hash, so that a new version is never mixed with an old. */
export const consoleAssets = { css: css.url, js: js.url }
