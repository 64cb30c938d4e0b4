import { expect, test } from 'vitest'
import { createConsole } from '../../../src/console/console.ts'
import { printable } from '../../../src/print/printable.mjs'
import { rowWord, unsortedColumns } from '../../support/hostile-rows.ts'
import { readHtml, type SeenElement } from '../../support/html-elements.ts'
import { createDatabase } from '../../support/postgres.ts'
import { clientOf, depsOver } from '../setup.ts'
import { makeHostileFleet } from './hostile-fleet.ts'

/** Every page of the console, over rows in which every text of a platform is hostile. */

const { db } = await createDatabase()
const deps = depsOver(db, { limits: { requestsPerSecond: 10_000, requestsBurst: 10_000 } })
const pages = createConsole(deps)
const call = clientOf({ ...deps, console: pages })
await makeHostileFleet(db, call)

const idsOf = async (table: string, limit = 20): Promise<string[]> =>
  (await db<{ id: string }[]>`select id from ${db(table)} order by id limit ${limit}`).map(({ id }) => id)

/** What stands for the parts of an address that name one thing. */
const rooms: Readonly<Record<string, readonly string[]>> = {
  queue: await idsOf('entry'),
  instances: await idsOf('instance'),
  machines: await idsOf('machine'),
  networks: await idsOf('network'),
  operations: await idsOf('operation'),
  certificates: await idsOf('certificate'),
  images: await idsOf('image'),
  templates: ['debian'],
  jobs: await idsOf('job', 30),
  sources: ['paris'],
  targets: ['oslo'],
  batches: ['wave-1'],
}
const [plan = ''] = await idsOf('batch_plan')

const addressesOf = (path: string): string[] => {
  if (path.endsWith('/plans/:id')) return [path.replace(':name', 'wave-1').replace(':id', plan)]
  if (path === '/queue/all/:verb')
    return ['cancel', 'retry', 'resolve'].map((verb) => `/queue/all/${verb}?batch=wave-1`)
  if (path === '/machines/all')
    return ['start', 'stop'].map((kind) => `${path}?kind=${kind}&meant=all&target=oslo`)
  const part = /:[a-z]+/.exec(path)?.[0]
  if (part === undefined) return [path]
  const things = rooms[path.split('/')[1] ?? ''] ?? []
  return things.map((thing) => path.replace(part, thing))
}

/** Pages that say nothing of a platform, and why. */
const silent: Readonly<Record<string, string>> = {
  '/signing-keys': 'keys of ours',
  '/workers': 'processes of ours',
  '/add-source': 'an empty form',
  '/add-target': 'an empty form',
  '/add-batch': 'an empty form',
  '/sources/:name/edit': 'settings of ours',
  '/targets/:name/edit': 'settings of ours',
  '/batches/:name/edit': 'settings of ours',
  '/batches': 'names and counts of ours',
  '/batches/:name/plans': 'counts of ours',
  '/assessment': 'counts by rules of ours',
}

const paths = [
  ...new Set(
    pages.routes
      .filter(({ method, path }) => method === 'GET' && !path.startsWith('/assets/'))
      .map(({ path }) => path),
  ),
]

/** A line end or a tab is a blank in a page, or shows its number: both are read. */
const asRead = (text: string): string => text.replaceAll(/⟨(?:A|9)⟩|[\n\t]/g, ' ')
const shown = asRead(printable(rowWord))
/** In full, or as much of it as there is room for, with a mark that there is more. */
const isShown = (text: string): boolean => {
  if (text.includes(shown)) return true
  for (const { index } of text.matchAll(/odd"><script>/g)) {
    const cut = text.indexOf('…', index)
    if (cut > index && shown.startsWith(text.slice(index, cut).trimEnd())) return true
  }
  return false
}

const ourAttribute =
  /^(?:id|class|href|title|name|value|type|role|for|method|action|lang|charset|content|media|rel|src|datetime|scope|open|hidden|checked|selected|disabled|required|readonly|rows|cols|min|max|step|maxlength|minlength|pattern|placeholder|autocomplete|spellcheck|tabindex|colspan|rowspan|multiple|size|list|label|formaction|viewbox|preserveaspectratio|x|y|d|width|height|download|enctype|start|aria-[a-z]+|data-[a-z-]+)$/i
const ourElement =
  /^(?:!doctype|html|head|meta|title|link|script|body|a|header|nav|ul|ol|li|main|div|p|h[1-6]|section|form|input|button|span|table|thead|tbody|tr|th|td|dl|dt|dd|code|pre|strong|em|bdi|time|details|summary|progress|svg|rect|path|select|option|optgroup|textarea|label|fieldset|legend|small|br|hr|datalist|wbr|article|aside|footer|figure|figcaption|caption|ins|del)$/i

const wrongElement = ({ name, attributes }: SeenElement): string | undefined => {
  if (!ourElement.test(name)) return `<${name}>`
  const strange = Object.keys(attributes).find((key) => !ourAttribute.test(key))
  if (strange !== undefined) return `<${name} ${strange}>`
  if (name === 'script' && !/^\/assets\/[a-z.0-9-]+\.js/.test(attributes.src ?? '')) return '<script>'
  const leads = attributes.href ?? attributes.action ?? attributes.src ?? '/'
  return /^[/#?]|^$/.test(leads) && !leads.startsWith('//')
    ? undefined
    : `<${name}> leads to ${leads.slice(0, 80)}`
}

/** Characters that turn, hide or steer. In what a person may send back they are as they were: else it would change. */
const steering = /[^\P{Cc}\n\t]|[\p{Cf}\p{Zl}\p{Zp}]/u
const steers = (text: string): string | undefined => {
  const found = steering.exec(text)
  return found
    ? `U+${found[0].codePointAt(0)?.toString(16)} after ${text.slice(Math.max(0, found.index - 80), found.index)}`
    : undefined
}

test('every column of text is sorted into what platforms say and what is ours', async () => {
  expect(await unsortedColumns(db)).toEqual([])
})

test.each(paths)('%s shows hostile words as words, and all of them', async (path) => {
  const addresses = addressesOf(path)
  expect(addresses, 'what stands for its id').not.toEqual([])
  let told = false
  for (const address of addresses) {
    const { status, text: html } = await call('GET', address, { headers: { accept: 'text/html' } })
    expect(status, `${address}: ${html.slice(0, 300)}`).toBe(200)
    const { elements, text } = readHtml(html)
    expect(
      elements.map(wrongElement).filter((wrong) => wrong !== undefined),
      address,
    ).toEqual([])
    expect(steers(text), address).toBeUndefined()
    for (const { name, attributes } of elements)
      for (const [key, value] of Object.entries(attributes))
        if (key !== 'value') expect(steers(value), `${address}: <${name} ${key}>`).toBeUndefined()
    told ||= isShown(asRead(text))
  }
  expect(told, path).toBe(silent[path] === undefined)
})
