import { beforeAll, expect, test } from 'vitest'
import { findRunningTwice } from '../../../db/queries/instances/find-running-twice.ts'
import { findTwins } from '../../../db/queries/instances/find-twins.ts'
import { listInstances } from '../../../db/queries/instances/list-instances.ts'
import { readingOf } from '../../support/plans.ts'
import { createDatabase } from '../../support/postgres.ts'

// What was migrated stays known for good, so a fleet has as many certificates and copies as it has instances one day.
// Neither a page of the list nor a start may read them all.

const { db } = await createDatabase()
const fleet = 20_000
const source = '00000000-0000-7000-8000-000000000001'
const target = '00000000-0000-7000-8000-000000000002'

beforeAll(async () => {
  await db`
    insert into site (id, role, name, kind, endpoint, username, settings, connectivity, created_by)
    values (${source}::uuid, 'source', 'old', 'lab', 'http://old', 'x', '{}', 'ok', 'test'),
      (${target}::uuid, 'target', 'new', 'lab', 'http://new', 'x', '{}', 'ok', 'test')`
  await db`
    insert into instance (id, site_id, ref, name, hash, revision, uuid, location, facts, os_type, distribution,
      distribution_version)
    select gen_random_uuid(), ${source}::uuid, 'vm-' || n, 'web-' || n, 'h', 1, gen_random_uuid()::text, '/' || n,
      '{"power_state": "off"}', '', '', '' from generate_series(1, ${fleet}::int) n`
  await db`
    insert into machine (id, target_id, ref, name, uuid, project, host, power, cpus, memory, origin, instance_id)
    select gen_random_uuid(), ${target}::uuid, 'new-' || ref, name, uuid, '', '', 'on', 1, 1, 'migrated', id from instance`
  await db`
    insert into certificate (id, entry_id, instance_id, batch_name, instance_name, document, signature, key_id)
    select gen_random_uuid(), gen_random_uuid(), id, 'wave-1', name, jsonb_build_object(
        'instance', jsonb_build_object('uuid', uuid),
        'target', jsonb_build_object('name', 'new', 'machine', 'new-' || ref, 'machine_name', name)), '', 'key'
    from instance`
  await db`analyze`
})

test('a page of the list reads a page, however many were migrated', async () => {
  const page = { after: undefined, limit: 51 }
  expect((await listInstances(db, { migrated: true }, page)).every(({ migrated }) => migrated)).toBe(true)
  const { rows, scans } = await readingOf(db, (asked) => listInstances(asked, { migrated: true }, page))
  expect(rows, scans.join(', ')).toBeLessThan(1_500)
})

test.each([
  ['a migrated source', { siteId: source, ref: 'vm-7' }],
  ['its copy', { siteId: target, ref: 'new-vm-7' }],
])('what may be the same VM as %s is found without reading the fleet', async (_, at) => {
  const asker = { jobId: null, entryId: null }
  const find = (asked: Parameters<typeof findTwins>[0]) => findTwins(asked, { ...at, uuid: '' }, asker)
  expect(new Set((await find(db)).map(({ relation }) => relation)).size).toBeGreaterThan(0)
  const { rows, scans } = await readingOf(db, find)
  expect(rows, scans.join(', ')).toBeLessThan(200)
})

test('what runs twice is found by reading each instance and each machine once', async () => {
  const find = (asked: Parameters<typeof findRunningTwice>[0]) =>
    findRunningTwice(asked, { id: source, role: 'source' }, 51)
  expect(await find(db)).toEqual([])
  const { rows, scans } = await readingOf(db, find)
  expect(rows, scans.join(', ')).toBeLessThan(2.5 * fleet)
})
