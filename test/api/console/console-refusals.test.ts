import { beforeEach, expect, test } from 'vitest'
import { createConsole } from '../../../src/console/console.ts'
import { addMachine } from '../../support/machines.ts'
import { createDatabase } from '../../support/postgres.ts'
import { addInstance, addMigrated, addSite } from '../inventory/inventory-rows.ts'
import { emptyMigration, named } from '../migration/batch-rows.ts'
import { clientOf, depsOver } from '../setup.ts'

const { db } = await createDatabase()
const deps = depsOver(db)
const call = clientOf({ ...deps, console: createConsole(deps) })

const browser = { accept: 'text/html' }
const look = (path: string, referer?: string) =>
  call('GET', path, { headers: { ...browser, ...(referer === undefined ? {} : { referer }) } })
const press = (path: string, form: Record<string, string>) =>
  call('POST', path, {
    raw: new URLSearchParams(form).toString(),
    headers: { ...browser, 'content-type': 'application/x-www-form-urlencoded' },
  })

let id = ''

beforeEach(async () => {
  await emptyMigration(db)
  const paris = await addSite(db, 'paris')
  id = await addInstance(db, paris, { facts: named('web-1') })
})

test.each([
  ['/machines/all?kind=stop', '<h1>Machines</h1>', 'Choose machines first'],
  ['/queue/all/cancel', '<h1>Queue</h1>', 'Say which entries are meant'],
])('a verb for many with nothing chosen leaves the list where it is: %s', async (path, title, says) => {
  const { status, text } = await look(path)
  expect(status).toBe(422)
  expect(text).toContain(title)
  expect(text).toMatch(new RegExp(`role="alert"><p><strong>This cannot be shown.</strong> ${says}`))
})

test('the list from which a verb for many came is shown as it was narrowed down, with what was chosen', async () => {
  const { text } = await look('/machines/all?kind=hibernate', 'http://127.0.0.1:7070/machines?target=oslo')
  expect(text).toContain('<h1>Machines</h1>')
  expect(text).toMatch(/name="target" value="oslo"/)
})

test('a power change that is refused leaves the page of the machine where it is', async () => {
  expect((await press(`/instances/${id}/power`, { verb: 'stop', sure: 'yes' })).status).toBe(303)
  const { status, text } = await press(`/instances/${id}/power`, { verb: 'start' })
  expect(status).toBe(409)
  expect(text).toMatch(/<h1>.*web-1/)
  expect(text).toMatch(
    /role="alert"><p><strong>Nothing was changed.<\/strong> [^<]+<\/p><p>Wait for that job/,
  )
  expect(text).toContain(`data-live="/instances/${id}"`)
})

test('a name that is taken leaves the form where it is, with what was typed', async () => {
  await addSite(db, 'oslo', { role: 'target' })
  const { text: form } = await look('/add-batch')
  const sent = {
    ...Object.fromEntries(
      [...form.matchAll(/<input [^>]*?name="([^"]+)"[^>]*? value="([^"]*)"/g)].map(([, name, value]) => [
        name,
        value,
      ]),
    ),
    ...{ name: 'wave-1', include_expression: 'name == "web-1"', 'defaults.placement.target': 'oslo' },
  }
  expect((await press('/add-batch', sent)).status).toBe(303)
  const { status, text } = await press('/add-batch', sent)
  expect(status).toBe(409)
  expect(text).toContain('<h1>Define a batch</h1>')
  expect(text).toContain('name == &quot;web-1&quot;')
  expect(text).toContain('Something else has this name already.')
})

test('a subject that is none is said above the jobs, and stays in its field', async () => {
  const { status, text } = await look('/jobs?subject=nonsense')
  expect(status).toBe(200)
  expect(text).toContain('<h1>Jobs</h1>')
  expect(text).toContain('value="nonsense"')
  expect(text).toMatch(/role="alert"><p><strong>This cannot be shown.<\/strong>/)
  expect(text).not.toContain('`errors`')
})

test('who acts on a page that is not up to date is told what to do on it, not what a program sends', async () => {
  await addMigrated(db, id, 'to-lyon')
  const machine = await addMachine(db, { targetId: await addSite(db, 'oslo', { role: 'target' }) })
  for (const [path, form, status] of [
    ['/sources/paris/remove', { finished: '2', 'sure-finished': 'yes' }, 409],
    [`/machines/${machine}`, { run_policy: 'always-on', version: '77' }, 412],
    [`/instances/${id}/overrides`, { cpus: '2', version: '77' }, 412],
  ] as [string, Record<string, string>, number][]) {
    const refused = await press(path, form)
    expect(refused.status, path).toBe(status)
    expect(refused.text, path).toContain('Nothing was changed.')
    expect(refused.text, path).not.toMatch(/If-Match|ETag|confirm_finished|Send /)
  }
})

test('a program that presses a button is answered as before', async () => {
  const { status, body } = await call('POST', `/instances/${id}/power`, {
    raw: 'verb=stop',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })
  expect([status, body.code]).toEqual([422, 'validation-failed'])
})
