import { v7 as uuidv7 } from 'uuid'
import { expect, test } from 'vitest'
import {
  findPlan,
  insertPlan,
  listPlanItems,
  markApproved,
  prunePlans,
} from '../../../db/queries/batches/batch-plan-rows.ts'
import { findBatch } from '../../../db/queries/batches/batch-rows.ts'
import type { PlanItem } from '../../../src/domain/migration/batch/plan-document.ts'
import { hostHints } from '../../../src/migration/place/choose-host.ts'
import type { PlanDocument } from '../../../src/migration/plan/plan-batch.ts'
import { CpuPool } from '../../../workers/cpu-pool.ts'
import { handlePlaceInstance } from '../../../workers/handlers/place-instance.ts'
import { handlePlanBatch } from '../../../workers/handlers/plan-batch.ts'
import { handleStartBatch } from '../../../workers/handlers/start-batch.ts'
import { clientOf, depsOver, tester } from '../../api/setup.ts'
import { ownedMachines } from '../../support/batch-world.ts'
import { atEnd } from '../../support/cleanup.ts'
import { createEntryWorker, createEntryWorld, sendTo } from '../../support/entry-world.ts'
import { createLab } from '../../support/lab.ts'
import { jobOf } from '../../support/ledger.ts'
import { fittingScript } from '../../support/placing.ts'
import { createDatabase } from '../../support/postgres.ts'

const cpu = new CpuPool()
atEnd(() => cpu.close())
const { db } = await createDatabase()
const lab = await createLab()
const world = await createEntryWorld(db, lab)
const handlers = [handlePlanBatch(cpu), handlePlaceInstance(cpu), handleStartBatch]
const worker = createEntryWorker(db, handlers, world.inventory.use)
const call = clientOf(depsOver(db))

const settings = (changes: Record<string, unknown> = {}) => ({
  name: 'planned',
  include_expression: 'true',
  defaults: { placement: { target: 'cloud' } },
  config: {
    placement_scriptlet: fittingScript,
    instance_restriction_overrides: {
      allow_unknown_os: true,
      allow_no_ipv4: true,
      allow_no_background_import: true,
    },
  },
  ...changes,
})

const runAll = async (kind: string): Promise<string[]> => {
  const jobs = await db<
    { id: string }[]
  >`select id from job where kind = ${kind} and finished_at is null order by id`
  for (const { id } of jobs) await worker.finish(id)
  return jobs.map(({ id }) => id)
}

const plan = async () => {
  const asked = await call('POST', '/v1/batches/planned/:plan')
  expect(asked.status).toBe(202)
  await runAll('plan-batch')
  const job = await jobOf(db, String(asked.body.id))
  expect(job).toMatchObject({ state: 'succeeded', result: { plan_id: expect.any(String) } })
  const batch = await findBatch(db, 'planned')
  const row = await findPlan(db, batch?.id ?? '', String(job.result?.plan_id))
  if (!row) throw new Error('The plan was not kept.')
  const items = await listPlanItems(db, row.id, { after: undefined, limit: 10_000, standing: undefined })
  return { id: row.id, digest: row.digest, document: { ...row.document, items } as unknown as PlanDocument }
}

/** How much of everything there is, and what was written last: a plan leaves all of it as it was. */
const tracesOf = async () => {
  const [row] = await db<Record<string, unknown>[]>`
    select (select count(*) from entry) as entries, (select count(*) from entry_disk) as disks,
      (select count(*) from effect) as effects, (select count(*) from batch_instance) as members,
      (select count(*) from event where type like 'entry.%') as events, (select count(*) from token_hold) as holds,
      (select count(*) from instance where frozen_by is not null) as frozen,
      (select md5(string_agg(b::text, '|' order by id)) from batch b) as batches,
      (select md5(string_agg(i::text, '|' order by id)) from instance i) as instances`
  return { ...row }
}

const placedOf = (items: readonly PlanItem[]) =>
  new Map(
    items.flatMap(({ instance_id, placement }) => (placement ? [[instance_id, placement] as const] : [])),
  )

test('a plan leaves no trace, and what then happens is what it said', async () => {
  // Two that want to be apart are given hosts by what the one before them got.
  await db`
    update instance set overrides = jsonb_build_object('attributes', jsonb_build_object(${hostHints.spread}::text, 'pair'))
    where ref in ('vm-101', 'vm-103')`
  const made = await call('POST', '/v1/batches', { json: settings() })
  expect(made.status).toBe(201)
  await runAll('start-batch')
  const before = await tracesOf()
  const machines = await world.to.call('GET /instances')
  const { document, digest } = await plan()
  expect(await tracesOf()).toEqual(before)
  expect((await world.to.call('GET /instances')).json).toEqual(machines.json)
  expect((await plan()).digest).toBe(digest)

  const { items, totals } = document
  const goes = items.filter(({ standing }) => standing === 'goes')
  expect(goes.length).toBeGreaterThan(2)
  expect(totals).toMatchObject({
    instances: items.length,
    goes: goes.length,
    blocked: items.filter(({ standing }) => standing === 'blocked').length,
    bytes: goes.reduce((sum, { bytes }) => sum + bytes, 0),
  })
  expect(totals.tokens['target-creates/cloud']).toMatchObject({ needed: goes.length })
  expect(totals).toMatchObject({
    copy_ms: null,
    forecast_note: `no history yet of ${goes.length} of ${goes.length}`,
  })
  for (const item of items.filter(({ standing }) => standing === 'blocked'))
    expect(item.reasons.length).toBeGreaterThan(0)

  expect((await call('POST', '/v1/batches/planned/:start')).status).toBe(202)
  await runAll('start-batch')
  const entries = await db<{ id: string; instanceId: string; state: string }[]>`
    select id, instance_id, state from entry where batch_id = (select id from batch where name = 'planned') order by id`
  const batch = { id: String((await findBatch(db, 'planned'))?.id), name: 'planned' }
  for (const { id, instanceId } of entries.filter(({ state }) => state === 'waiting')) {
    const payload = { instance_id: instanceId, revision: 0 }
    await worker.finish(await sendTo({ ...world, batch }, id, 'place-instance', payload))
  }
  const rows = await db<{ instanceId: string; placement: Record<string, unknown> | null }[]>`
    select instance_id, placement - 'why' - 'log' as placement from entry where placement is not null`
  const happened = new Map(rows.map(({ instanceId, placement }) => [instanceId, placement]))
  expect(Object.fromEntries(happened)).toEqual(Object.fromEntries(placedOf(goes)))
  const hosts = [...placedOf(goes).values()].map(({ host }) => host).filter((host) => host !== '')
  expect(hosts).toHaveLength(2)
  expect(new Set(hosts).size).toBe(2)

  const after = await plan()
  const standing = after.document.items.filter(({ standing }) => standing === 'on-its-way')
  expect(standing).toHaveLength(goes.length)
  expect(placedOf(standing)).toEqual(placedOf(goes))
})

test('a plan names windows, forecasts and what the target refuses, and is compared with what was approved', async () => {
  await call('POST', '/v1/batches/planned/:reset', { json: { force: true } })
  await db`delete from entry where batch_id = (select id from batch where name = 'planned')`
  for (const ref of await ownedMachines(world)) await world.to.done(`DELETE /instances/${ref}`)
  await db`update instance set frozen_by = null`
  const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString()
  const change = (changes: Record<string, unknown>) =>
    call('PUT', '/v1/batches/planned', { json: settings(changes), headers: { 'if-match': '*' } })
  const narrow = {
    require_approval: true,
    migration_windows: [{ name: 'night', start: inHours(1), end: inHours(2), capacity: 1 }],
  }
  expect((await change(narrow)).status).toBe(200)
  await runAll('start-batch')
  const seconds = (phase: string, bytes: number, tookMs: number) => db`
    insert into entry_history (id, source_id, target_id, phase, bytes, took_ms)
    values (gen_random_uuid(), ${world.source.id}, ${world.target.id}, ${phase}, ${bytes}, ${tookMs})`
  await seconds('background-import', 2 ** 30, 1_000)
  for (const phase of ['source-stop', 'final-import', 'post-import', 'final-verify'])
    await seconds(phase, phase === 'final-import' ? 2 ** 30 : 0, 1_000)

  const first = await plan()
  const goes = first.document.items.filter(({ standing }) => standing === 'goes')
  expect(goes.map(({ window }) => window).filter((name) => name === 'night')).toHaveLength(1)
  expect(first.document.totals.without_window).toBe(goes.length - 1)
  for (const { bytes, copy_ms: copy, downtime_ms: down } of goes) {
    expect(copy?.p50).toBe(Math.round((bytes / 2 ** 30) * 1_000))
    expect(down).not.toBeNull()
  }
  expect(first.document.totals.copy_ms).not.toBeNull()
  expect(first.document.diff).toBeNull()

  const approve = (planId: string) =>
    call('POST', '/v1/batches/planned/:approve', { json: { plan_id: planId } })
  expect((await call('POST', '/v1/batches/planned/:start')).body.code).toBe('batch-not-approved')
  const approved = await approve(first.id)
  expect(approved.status).toBe(200)
  expect(approved.body.approval).toMatchObject({ plan_id: first.id, digest: first.digest, by: tester })

  const wider = { ...narrow, defaults: { placement: { target: 'cloud', storage_pool: 'nowhere' } } }
  const script = { config: { ...settings().config, placement_scriptlet: '' } }
  expect((await change({ ...wider, ...script })).body.approval).toBeNull()
  const refused = await approve(first.id)
  expect([refused.status, refused.body.code]).toEqual([409, 'plan-outdated'])
  const second = await plan()
  expect(second.digest).not.toBe(first.digest)
  const blocked = second.document.items.filter(({ standing }) => standing === 'blocked')
  expect(blocked.flatMap(({ reasons }) => reasons.map(({ code }) => code))).toContain('pool-absent')
  expect(second.document.diff).toMatchObject({ since: first.id, added: [], removed: [] })
  expect(second.document.diff?.changed.length).toBeGreaterThan(0)
  expect(second.document.diff?.changed[0]?.what).toContain('placement')

  const listed = await call('GET', '/v1/batches/planned/plans')
  expect(listed.body.items.slice(0, 2).map(({ id, approved }) => [id, approved !== null])).toEqual([
    [second.id, false],
    [first.id, true],
  ])
  const path = `/v1/batches/planned/plans/${second.id}`
  const page = await call('GET', `${path}?limit=1&standing=blocked`)
  expect(page.body.items).toMatchObject([{ standing: 'blocked' }])
  const next = await call('GET', `${path}?limit=1&standing=blocked&cursor=${page.body.next_cursor}`)
  expect(next.body.items[0]?.instance_id).not.toBe(page.body.items[0]?.instance_id)
  expect((await call('GET', `/v1/batches/planned/plans/${world.source.id}`)).status).toBe(404)
})

test('what another batch has is said to be there, and old approvals do not pile up', async () => {
  const row = await findBatch(db, 'planned')
  const planned = { id: row?.id ?? '', version: row?.version ?? 0 }
  const [first] = await db<{ instanceId: string }[]>`
    select instance_id from batch_instance where batch_id = ${planned.id}::uuid order by 1`
  await db`delete from entry where instance_id = ${first?.instanceId ?? ''}::uuid`
  await db`
    insert into entry (id, batch_id, instance_id, source_id, state, reason, message, revision, facts, running)
    select gen_random_uuid(), ${world.batch.id}::uuid, id, site_id, 'waiting', 'waiting', 'It waits.', 1, facts, true
    from instance where id = ${first?.instanceId ?? ''}::uuid`
  for (let nth = 0; nth < 8; nth += 1) {
    const id = uuidv7()
    await db.begin(async (tx) => {
      await insertPlan(tx, { id, batchId: planned.id, document: {}, digest: String(nth), by: 'test' })
      await markApproved(tx, id, { by: 'test', at: `2099-01-0${nth + 1}T00:00:00.000Z` })
      await prunePlans(tx, planned.id, { newest: 1, approved: 2 })
    })
  }
  const kept = await db<{ digest: string }[]>`
    select digest from batch_plan where batch_id = ${planned.id}::uuid order by id`
  expect(kept.map(({ digest }) => digest)).toEqual(['6', '7'])
  await db`delete from batch_plan where batch_id = ${planned.id}::uuid`
  const { document } = await plan()
  const elsewhere = document.items.filter(({ standing }) => standing === 'in-other-batch')
  expect(elsewhere).toMatchObject([
    { instance_id: first?.instanceId, placement: null, reasons: [{ code: 'in-other-batch' }] },
  ])
  expect(document.totals).toMatchObject({ in_other_batch: 1, instances: document.items.length })
})

test('who asks twice while it is planned gets the same job', async () => {
  const [one, two] = [
    await call('POST', '/v1/batches/planned/:plan'),
    await call('POST', '/v1/batches/planned/:plan'),
  ]
  expect([one.body.existing, two.body.existing]).toEqual([false, true])
  expect(two.body.id).toBe(one.body.id)
  expect((await call('POST', '/v1/batches/none/:plan')).status).toBe(404)
})
