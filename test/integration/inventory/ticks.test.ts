import { expect, test } from 'vitest'
import { pruneStage } from '../../../db/queries/sync/stage-inventory.ts'
import { rulesVersion } from '../../../src/domain/inventory/rules/catalogue.ts'
import { reassessStale } from '../../../src/inventory/judge/assess.ts'
import { tickSites } from '../../../src/inventory/sync/ticks.ts'
import { ImaginedSite } from '../../support/imagined-site.ts'
import { createInventoryWorker, instanceOf, makeSite, siteOf } from '../../support/inventory.ts'
import { add, claim } from '../../support/ledger.ts'
import { createDatabase } from '../../support/postgres.ts'

const jobsOf = async (db: Awaited<ReturnType<typeof createDatabase>>['db'], kind: string) => db<
  { subjectId: string }[]
>`
  select subject_id from job where kind = ${kind} order by subject_id`

test('what is due is enqueued once, whoever else ticks at the same moment, and only what can be reached', async () => {
  const { db } = await createDatabase()
  for (const name of ['a', 'b', 'c']) await makeSite(db, { name, connectivity: 'ok' })
  await makeSite(db, { name: 'away', connectivity: 'cannot-connect' })
  await makeSite(db, { name: 'by-hand', connectivity: 'ok', settings: { sync_interval_seconds: 0 } })
  await makeSite(db, { name: 'later', connectivity: 'ok', quiet: true })
  await Promise.all([tickSites({ db }), tickSites({ db }), tickSites({ db })])
  expect((await jobsOf(db, 'check-connection')).map((job) => job.subjectId)).toEqual([
    'a',
    'away',
    'b',
    'by-hand',
    'c',
  ])
  expect((await jobsOf(db, 'sync-source')).map((job) => job.subjectId)).toEqual(['a', 'b', 'c'])
  const tokens = await db<
    { tokens: string[] }[]
  >`select tokens from job where kind = 'sync-source' and subject_id = 'a'`
  expect(tokens).toEqual([{ tokens: ['site-sync/source.a'] }])
})

test('a site whose last job has not ended is left alone, however overdue it is', async () => {
  const { db } = await createDatabase()
  await makeSite(db, { name: 'a', connectivity: 'ok' })
  await tickSites({ db })
  await db`update site set next_sync_at = now() - interval '1 hour', next_check_at = now() - interval '1 hour'`
  expect(await tickSites({ db })).toEqual({ checks: 0, syncs: 0, more: false })
  await db`update job set state = 'succeeded', finished_at = now()`
  expect(await tickSites({ db })).toEqual({ checks: 1, syncs: 1, more: false })
})

test('a round is bounded, the longest due go first, and the rest follows', async () => {
  const { db } = await createDatabase()
  for (const name of ['young', 'old', 'older']) await makeSite(db, { name, connectivity: 'ok' })
  await db`update site set next_sync_at = now() - interval '1 hour', next_check_at = now() - interval '1 hour' where name = 'old'`
  await db`update site set next_sync_at = now() - interval '2 hours', next_check_at = now() - interval '2 hours' where name = 'older'`
  expect(await tickSites({ db, batch: 2 })).toEqual({ checks: 2, syncs: 2, more: true })
  expect((await jobsOf(db, 'sync-source')).map((job) => job.subjectId)).toEqual(['old', 'older'])
  expect(await tickSites({ db, batch: 2 })).toEqual({ checks: 1, syncs: 1, more: false })
})

test('syncs are spread over their interval, and a site that fails waits longer each time', async () => {
  const { db } = await createDatabase()
  const world = new ImaginedSite()
  const worker = createInventoryWorker(db, world.open)
  const pause = async (name: string) => {
    const [row] = await db<{ seconds: number }[]>`
      select extract(epoch from next_sync_at - now())::float8 as seconds from site where name = ${name}`
    return row?.seconds ?? 0
  }
  const pauses: number[] = []
  for (let index = 0; index < 8; index += 1) {
    await makeSite(db, { name: `s-${index}`, connectivity: 'ok' })
    await worker.sync(`s-${index}`)
    pauses.push(await pause(`s-${index}`))
  }
  expect(Math.min(...pauses)).toBeGreaterThan(500)
  expect(Math.max(...pauses)).toBeLessThanOrEqual(660)
  expect(new Set(pauses.map((seconds) => Math.round(seconds / 5))).size).toBeGreaterThan(2)
  world.probeError = new Error('It is away.')
  const failing: number[] = []
  for (let index = 0; index < 5; index += 1) {
    await worker.sync('s-0')
    failing.push(await pause('s-0'))
  }
  expect(failing[2]).toBeGreaterThan((failing[1] ?? 0) * 1.5)
  expect(failing[4]).toBeLessThanOrEqual(3_600 * 1.1)
  expect((await siteOf(db, 's-0')).syncFailures).toBe(5)
})

test('instances are judged anew when the rules are others, and when a waiver has ended', async () => {
  const { db } = await createDatabase()
  const world = new ImaginedSite()
  world.put({ ref: 'vm-1', encrypted: true, nics: [] })
  world.put({ ref: 'vm-2' })
  await makeSite(db, { name: 's', connectivity: 'ok' })
  await createInventoryWorker(db, world.open).sync('s')
  expect(await reassessStale(db)).toBe(false)
  await db`update instance set rules_version = 'older', readiness = 'ready'`
  await db`delete from finding`
  while (await reassessStale(db, 1));
  const { id, readiness, rulesVersion: judgedBy } = await instanceOf(db, 's', 'vm-1')
  expect([readiness, judgedBy]).toEqual(['blocked', rulesVersion])
  const findings = async () => db<{ rule: string; waived: boolean }[]>`
    select rule, waived from finding where instance_id = ${id}::uuid and severity = 'critical' order by rule`
  const critical = await findings()
  expect(critical.length).toBeGreaterThan(0)
  const waiver = async (until: string) => {
    await db`delete from waiver`
    for (const { rule } of critical)
      await db`insert into waiver (id, rule, instance_id, reason, until, created_by)
        values (gen_random_uuid(), ${rule}, ${id}::uuid, 'it is fine', now() + ${until}::interval, 'ann')`
    await db`update instance set rules_version = '' where id = ${id}::uuid`
    await reassessStale(db)
  }
  await waiver('1 hour')
  expect((await findings()).some(({ waived }) => waived)).toBe(true)
  await db`update waiver set until = now() - interval '1 second'`
  await reassessStale(db)
  expect(await findings()).toEqual(critical)
  expect(await reassessStale(db)).toBe(false)
})

test('what a sync has staged and nobody will go on with is removed, and nothing else', async () => {
  const { db } = await createDatabase()
  const [dead = '', living = ''] = await add(db, {}, {})
  const job = await claim(db, living)
  const rows = [
    { id: dead, epoch: 1 },
    { id: living, epoch: 0 },
    { id: living, epoch: job?.leaseEpoch ?? -1 },
  ]
  for (const { id, epoch } of rows)
    await db`insert into inventory_stage (job_id, epoch, kind, ref, action, name)
      values (${id}::uuid, ${epoch}, 'instance', 'vm-1', 'seen', 'x')`
  while ((await pruneStage(db, 1)) > 0);
  expect(await db`select job_id, epoch from inventory_stage`).toEqual([
    { jobId: living, epoch: job?.leaseEpoch },
  ])
})
