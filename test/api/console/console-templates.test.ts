import { beforeEach, expect, test } from 'vitest'
import { createConsole } from '../../../src/console/console.ts'
import { createDatabase } from '../../support/postgres.ts'
import { clientOf, depsOver, tokensFor } from '../setup.ts'
import { askTemplate, emptyTemplates, failSwap, finishSwap, importImage } from '../template/template-rows.ts'

const { db } = await createDatabase()
const deps = depsOver(db, { limits: { requestsPerSecond: 10_000, requestsBurst: 10_000 } })
const call = clientOf({ ...deps, console: createConsole(deps) })

const see = async (path: string, as?: string): Promise<string> => {
  const { status, text } = await call('GET', path, { as })
  expect(status, text).toBe(200)
  return text
}

const press = (path: string, form: Record<string, string> = {}) =>
  call('POST', path, {
    raw: new URLSearchParams(form).toString(),
    headers: { accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' },
  })

beforeEach(async () => {
  await emptyTemplates(db)
  await importImage(db, call, 'debian-13', '13.0')
  await askTemplate(call)
  await finishSwap(db, 'debian')
  await importImage(db, call, 'debian-14', '14.0')
})

test('templates and images are listed and shown with what they have to do with each other', async () => {
  const templates = await see('/templates?target=oslo')
  expect(templates).toMatch(/href="\/templates\/debian">debian<\/a>[\s\S]*is-fit">live[\s\S]*debian-13/)
  const [id] = /(?<=href="\/images\/)[^"]+(?=">debian-13<)/.exec(await see('/images')) ?? []
  const image = await see(`/images/${id}`)
  expect(image).toMatch(/href="\/templates\/debian">debian<\/a> points at it, version 1/)
  expect(image).toContain('<code>ref-debian-13</code>')
  expect((await call('GET', '/images/none')).status).toBe(404)
  expect((await call('GET', '/templates/none')).status).toBe(404)
})

test('an update is planned, pressed, and gone back from; what failed says why', async () => {
  const planned = await see('/templates/debian?image=debian-14')
  expect(planned).toMatch(
    /<strong>stage<\/strong>[\s\S]*<strong>promote<\/strong>[\s\S]*Nothing is uploaded\./,
  )
  const pressed = await press('/templates/debian/update', { image: 'debian-14' })
  expect([pressed.status, pressed.headers.get('location')]).toEqual([
    303,
    '/templates/debian?notice=operation-asked',
  ])
  await failSwap(db, 'debian')
  expect(await see('/templates/debian')).toMatch(/The target is full\.[\s\S]*Make room\./)
  expect((await press('/templates/debian/recover')).status).toBe(303)
  await finishSwap(db, 'debian')
  const shown = await see('/templates/debian')
  expect(shown).toMatch(/name="version" value="1">\s*<button type="submit">Roll back/)
  expect(shown).not.toMatch(/name="version" value="2"/)
  expect((await press('/templates/debian/rollback', { version: '1' })).status).toBe(303)
  expect(await see('/templates/debian')).toContain('Version 3 is wanted: debian-13.')
})

test('what would be refused is said before it is asked for, and a viewer is offered nothing', async () => {
  await importImage(db, call, 'debian-12', '12.0')
  expect(await see('/templates/debian?image=debian-12')).toContain(
    'It would be refused: debian-12 holds version 12.0',
  )
  expect(await see('/templates/debian?image=none')).toContain('There is no image none.')
  const { viewer } = await tokensFor(db)
  const seen = await see('/templates/debian?image=debian-14', viewer)
  expect(seen).not.toContain('method="post" action="/templates')
})
