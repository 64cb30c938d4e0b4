import { beforeEach, expect, test } from 'vitest'
import { createConsole } from '../../../src/console/console.ts'
import { createDatabase } from '../../support/postgres.ts'
import { addInstance, addSite } from '../inventory/inventory-rows.ts'
import { addFleet, emptyMigration, moveRow, named, restEntries, startBatch } from '../migration/batch-rows.ts'
import { clientOf, depsOver } from '../setup.ts'

const { db } = await createDatabase()
const deps = depsOver(db)
const call = clientOf({ ...deps, console: createConsole(deps) })

const press = (path: string, form: Record<string, string>) =>
  call('POST', path, {
    raw: new URLSearchParams(form).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })

const jobs = async () =>
  (
    await db<{ verb: string }[]>`select payload ->> 'verb' as verb from job where kind = 'power-instance'`
  ).map(({ verb }) => verb)

beforeEach(async () => {
  await emptyMigration(db)
  await db`delete from job where kind = 'power-instance'`
})

// promise: off-said-first
test.each(['shutdown', 'stop', 'restart'])(
  'no press of the console switches a source (%s) before its person has said which',
  async (verb) => {
    const paris = await addSite(db, 'paris')
    const id = await addInstance(db, paris, { facts: named('web-1') })
    const refused = await press(`/instances/${id}/power`, { verb })
    expect(refused.status).toBe(422)
    expect(await jobs()).toEqual([])
    expect((await press(`/instances/${id}/power`, { verb, sure: 'yes' })).status).toBe(303)
    expect(await jobs()).toEqual([verb])
  },
)

test('the page of a source says what a power change means, and a start is one press', async () => {
  const paris = await addSite(db, 'paris')
  const id = await addInstance(db, paris, { facts: named('web-1') })
  const { text } = await call('GET', `/instances/${id}`)
  expect(text).toContain('it is off until somebody starts it, nothing does that by itself')
  expect(text).toContain('what its guest has not written is lost')
  expect((await press(`/instances/${id}/power`, { verb: 'start' })).status).toBe(303)
})

test('the page of a machine that a batch holds says as when it is shown, and offers no power change that is refused', async () => {
  const paris = await addSite(db, 'paris')
  const id = await addInstance(db, paris, { facts: named('web-1'), frozenBy: 'batch/wave-1' })
  const { text } = await call('GET', `/instances/${id}`)
  expect(text).toContain('It was on when its record was taken')
  expect(text).not.toContain('It is on')
  expect(text).not.toContain(`action="/instances/${id}/power"`)
  for (const verb of ['start', 'shutdown', 'restart', 'stop'])
    expect((await press(`/instances/${id}/power`, { verb, sure: 'yes' })).status).toBe(409)
})

// promise: off-said-first
test('a guest that is given time is not called off, wherever it is shown', async () => {
  await addFleet(db, ['web-1'])
  await startBatch(db, call)
  await restEntries(db)
  const [one] = (await call('GET', '/v1/queue')).body.items
  const guestUntil = new Date(Date.now() + 300_000)
  await moveRow(db, String(one?.id), { state: 'final-import', stage: 'final', guestUntil })
  for (const path of ['/', '/batches/wave-1', '/queue', `/queue/${one?.id}`]) {
    const { text } = await call('GET', path)
    expect(text, path).toMatch(/asked to shut down at [^,]+ UTC, still running, forced off at [^,]+ UTC/)
    expect(text, path).not.toMatch(/went off|is off for its migration|Its source is off/)
  }
})

// promise: off-said-first
test('who is off is on the batch, the entry, the overview and in what a person confirms', async () => {
  await addFleet(db, ['web-1', 'web-2'])
  const end = new Date(Date.now() + 7_200_000).toISOString()
  await startBatch(db, call, { migration_windows: [{ name: 'night', start: null, end }] })
  await restEntries(db)
  const [one] = (await call('GET', '/v1/queue')).body.items
  await moveRow(db, String(one?.id), {
    state: 'worker-done',
    stage: 'complete',
    windowName: 'night',
    stopped: true,
  })
  const said = '1 machine is off for its migration'
  const batch = (await call('GET', '/batches/wave-1')).text
  expect(batch).toContain(`<strong>${said}</strong>`)
  expect(batch).toMatch(/web-1 \(since [^)]+ at the latest\)\. While the batch is stopped nothing goes on/)
  expect(batch).toMatch(
    /web-1 \(since [^)]+ at the latest\)\. It is switched on again, once its copy is proved off/,
  )
  await press('/batches/wave-1/stop', { sure: 'yes' })
  expect((await call('GET', '/batches/wave-1')).text).toContain(
    'Its batch is stopped: it is switched on again when',
  )
  expect((await call('GET', '/')).text).toContain(said)
  expect((await call('GET', `/queue/${one?.id}`)).text).toContain('Its source is off')
  expect((await call('GET', '/queue/all/cancel?batch=wave-1')).text).toContain(said)
  expect((await call('GET', '/queue')).text).toContain('is-down')
})

// promise: verb-said-first
test('an entry is resolved and tried again only by a person who has read what that does', async () => {
  await addFleet(db, ['web-1'])
  await startBatch(db, call)
  await restEntries(db)
  const [one] = (await call('GET', '/v1/queue')).body.items
  const id = String(one?.id)
  for (const [verb, state] of [
    ['resolve', 'conflict'],
    ['retry', 'error'],
  ] as const) {
    await moveRow(db, id, { state })
    expect((await call('GET', `/queue/${id}`)).text).toContain(
      'Its source is switched off for the cutover as soon as',
    )
    expect((await press(`/queue/${id}/${verb}`, {})).status).toBe(422)
    expect((await press(`/queue/${id}/${verb}`, { sure: 'yes' })).status).toBe(303)
  }
})

test('no press of the console lets the work of a stopped batch go on apart from the batch', async () => {
  await addFleet(db, ['web-1'])
  await startBatch(db, call, { include_expression: 'true' })
  await call('POST', '/v1/batches/wave-1/:stop')
  const { text } = await call('GET', '/')
  expect(text).toContain('The batch wave-1 was stopped by')
  expect(text).not.toContain('/pauses/lane/resume')
  expect((await press('/pauses/lane/resume', { name: 'batch/wave-1' })).status).toBe(409)
  expect((await db`select 1 from pause where name = 'batch/wave-1'`).length).toBe(1)
})
