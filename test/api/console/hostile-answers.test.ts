import { expect, onTestFinished, test } from 'vitest'
import { createApi } from '../../../src/api/app.ts'
import { createConsole } from '../../../src/console/console.ts'
import { printable } from '../../../src/print/printable.mjs'
import { untilReadable } from '../../support/events.ts'
import { rowWord } from '../../support/hostile-rows.ts'
import { readHtml } from '../../support/html-elements.ts'
import { createDatabase } from '../../support/postgres.ts'
import { clientOf, depsOver, startFeed, tokensFor } from '../setup.ts'
import { makeHostileFleet } from './hostile-fleet.ts'

/** What is no page of the console, over rows in which every text of a platform is hostile. */

const { db } = await createDatabase()
const limits = { requestsPerSecond: 10_000, requestsBurst: 10_000 }
const made = depsOver(db, { limits })
const call = clientOf({ ...made, console: createConsole(made) })
await makeHostileFleet(db, call)
await untilReadable(db)

const steering = /[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}]/u
const marker = printable('photo\u202egpj.exe')

test('lines of CSV begin no formula, steer no terminal, and are one for each machine', async () => {
  const { status, text } = await call('GET', '/v1/assessment?format=csv')
  expect(status, text).toBe(200)
  expect(steering.exec(text.replaceAll('\r\n', '\n'))).toBeNull()
  expect(text).toContain(marker)
  expect(text).not.toMatch(/(?:^|,)"[=+\-@]/m)
  // And their head; one is migrated.
  expect(text.trim().split('\r\n')).toHaveLength(6)
})

test.each([
  ['entry', '/v1/queue'],
  ['instance', '/v1/instances'],
  ['machine', '/v1/machines'],
  ['operation', '/v1/operations'],
  ['certificate', '/v1/certificates'],
  ['job', '/v1/jobs'],
  ['host', '/v1/hosts'],
  ['network', '/v1/networks'],
  ['warning', '/v1/warnings'],
  ['effect', '/v1/effects'],
  ['event', '/v1/events'],
])('JSON of every %s holds its words whole, and no control character', async (table, path) => {
  const paths = [path]
  if (!['host', 'warning', 'effect', 'event'].includes(table))
    for (const { id } of await db<{ id: string }[]>`select id from ${db(table)}`) paths.push(`${path}/${id}`)
  let holds = false
  for (const one of paths) {
    const { status, text } = await call('GET', one)
    expect(status, `${one} ${text.slice(0, 300)}`).toBe(200)
    expect(/[^\P{Cc}\n\u0080-\u009f]/u.exec(text), one).toBeNull()
    JSON.parse(text)
    holds ||= text.includes(JSON.stringify(rowWord).slice(1, -1))
  }
  expect(holds, path).toBe(true)
})

test.each(['/queue', '/operations', '/jobs'])(
  'an open page %s is brought up to date with the same care',
  async (path) => {
    const deps = depsOver(db, { limits, events: startFeed(db) })
    const api = createApi({ ...deps, console: createConsole(deps) })
    const { viewer } = await tokensFor(db)
    const response = await api.request(
      `http://127.0.0.1:7070${path}`,
      { headers: { accept: 'text/event-stream', authorization: `Bearer ${viewer}` } },
      { incoming: { socket: { remoteAddress: '127.0.0.1' } } },
    )
    const reader = response.body?.getReader()
    onTestFinished(() => void reader?.cancel().catch(() => {}))
    const decoder = new TextDecoder()
    let sent = ''
    while (!sent.includes('event: announce'))
      sent += decoder.decode((await reader?.read())?.value, { stream: true })
    const parts = [...sent.matchAll(/^event: part\ndata: (.*)$/gm)].map(
      ([, data = '']) => (JSON.parse(data) as { html: string }).html,
    )
    const read = parts.map((html) => readHtml(html).text).join('')
    expect(read).toContain(marker)
    expect(steering.exec(read.replaceAll('\t', ' '))).toBeNull()
  },
)

test('a page that says what is wrong shows what was asked for as words', async () => {
  const asked = encodeURIComponent('"><script>alert(1)</script>photo\u202egpj.exe')
  for (const path of [
    `/nowhere/${asked}`,
    `/queue?state=${asked}`,
    `/instances?filter=${asked}`,
    `/login?next=/${asked}`,
  ]) {
    const { text } = await call('GET', path, { headers: { accept: 'text/html' } })
    const { elements, text: read } = readHtml(text)
    expect(
      elements.filter(({ name, attributes }) => name === 'script' && attributes.src === undefined),
      path,
    ).toEqual([])
    expect(/[^\P{Cc}\n\t]|[\p{Cf}\p{Zl}\p{Zp}]/u.exec(read), path).toBeNull()
  }
})
