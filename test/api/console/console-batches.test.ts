import { beforeEach, expect, test } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { createConsole } from '../../../src/console/console.ts'
import { createDatabase } from '../../support/postgres.ts'
import { addSite } from '../inventory/inventory-rows.ts'
import { addFleet, emptyMigration, startBatch } from '../migration/batch-rows.ts'
import { clientOf, depsOver } from '../setup.ts'

const { db } = await createDatabase()
const call = clientOf(depsOver(db))
const names = Array.from({ length: 25 }, (_, at) => `web-${at}`)

/** The console by a clock for which every request is at its end after its first part. */
const hurried = () => {
  let lookedMs = 0
  const deps = depsOver(db, { clock: { ...systemClock, monotonicMs: () => (lookedMs += 60_000) } })
  return clientOf({ ...deps, console: createConsole(deps) })
}

const press = (path: string, form: Record<string, string> = {}) =>
  hurried()('POST', path, {
    raw: new URLSearchParams(form).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })

beforeEach(async () => {
  await emptyMigration(db)
  await addFleet(db, names)
  await startBatch(db, call)
})

test('a batch that is too large for one press says how many entries are left, until it is gone', async () => {
  await db`update entry set state = 'finished', stage = 'complete', job_id = null`
  await db`update batch set state = 'finished'`
  const all = names.length.toString()
  const confirmed = (finished: string) => ({ finished, 'sure-finished': 'yes' })
  const first = await press('/batches/wave-1/remove', confirmed(all))
  const at = first.headers.get('location') ?? ''
  expect([first.status, at]).toEqual([303, '/batches/wave-1/edit?notice=batch-half-removed&count=5'])
  expect((await hurried()('GET', at)).text).toContain('5 of its entries are left')
  const second = await press('/batches/wave-1/remove', confirmed('5'))
  expect(second.headers.get('location')).toBe('/batches?notice=batch-removed')
  expect((await call('GET', '/v1/batches/wave-1')).status).toBe(404)
})

test('a source that is too large for one press says how many machines are left, until it is gone', async () => {
  const site = await addSite(db, 'nice')
  await db`
    insert into instance (id, site_id, ref, name, hash, revision, uuid, location, facts, os_type, distribution,
      distribution_version)
    select gen_random_uuid(), ${site}, 'vm-' || n, 'vm-' || n, 'h', 1, '', '/', '{}', '', '', ''
    from generate_series(1, 25500) n`
  const first = await press('/sources/nice/remove')
  const at = first.headers.get('location') ?? ''
  expect([first.status, at]).toEqual([303, '/sources/nice/edit?notice=site-half-removed&count=500'])
  expect((await hurried()('GET', at)).text).toContain('500 of its machines are left')
  const second = await press('/sources/nice/remove')
  expect(second.headers.get('location')).toBe('/sources?notice=removed')
})

test('what one press did not reach of many entries is told, with a way on', async () => {
  const done = await press('/queue/all/cancel?batch=wave-1', { sure: 'yes', count: '25' })
  expect(done.status).toBe(200)
  expect(done.text).toMatch(/0 done<.strong>, 1 asked/)
  expect(done.text).toContain('24 are left')
  const [, cursor = ''] = done.text.match(/name="cursor" value="([^"]+)"/) ?? []
  const next = await press('/queue/all/cancel?batch=wave-1', { sure: 'yes', count: '24', cursor })
  expect(next.text).toContain('23 are left')
})

test('many entries are not touched without a word that all are meant', async () => {
  expect((await press('/queue/all/cancel?batch=wave-1', { count: '25' })).status).toBe(422)
  expect((await press('/queue/all/cancel', { sure: 'yes', count: '25' })).status).toBe(422)
  expect((await hurried()('GET', '/queue/all/destroy?batch=wave-1')).status).toBe(404)
  expect((await call('GET', '/v1/queue?state=canceled')).body.items).toHaveLength(0)
})
