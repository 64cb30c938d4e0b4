import { expect, test } from 'vitest'
import { findPlan, listPlanItems } from '../../../db/queries/batches/batch-plan-rows.ts'
import { findBatch } from '../../../db/queries/batches/batch-rows.ts'
import type { PlanItem } from '../../../src/domain/migration/batch/plan-document.ts'
import { CpuPool } from '../../../workers/cpu-pool.ts'
import { handlePlaceInstance } from '../../../workers/handlers/place-instance.ts'
import { handlePlanBatch } from '../../../workers/handlers/plan-batch.ts'
import { handleStartBatch } from '../../../workers/handlers/start-batch.ts'
import { clientOf, depsOver } from '../../api/setup.ts'
import { atEnd } from '../../support/cleanup.ts'
import { createEntryWorker, createEntryWorld, entryOf } from '../../support/entry-world.ts'
import { instanceOf } from '../../support/inventory.ts'
import { createLab } from '../../support/lab.ts'
import { jobOf } from '../../support/ledger.ts'
import { codesOf, fittingScript, oursOf, sendPlace, setBatch, waitingEntry } from '../../support/placing.ts'
import { createDatabase } from '../../support/postgres.ts'

const cpu = new CpuPool()
atEnd(() => cpu.close())
const { db } = await createDatabase()
const lab = await createLab()
const world = await createEntryWorld(db, lab)
const handlers = [handlePlanBatch(cpu), handlePlaceInstance(cpu), handleStartBatch]
const worker = createEntryWorker(db, handlers, world.inventory.use)
const call = clientOf(depsOver(db))

const runAll = async (kind: string): Promise<void> => {
  const jobs = await db<{ id: string }[]>`
    select id from job where kind = ${kind} and finished_at is null order by id`
  for (const { id } of jobs) await worker.finish(id)
}

const planOf = async (name: string): Promise<ReadonlyMap<string, PlanItem>> => {
  const asked = await call('POST', `/v1/batches/${name}/:plan`)
  expect(asked.status).toBe(202)
  await runAll('plan-batch')
  const { result } = await jobOf(db, String(asked.body.id))
  const batch = await findBatch(db, name)
  const row = await findPlan(db, batch?.id ?? '', String(result?.plan_id))
  const items = (await listPlanItems(db, row?.id ?? '', {
    after: undefined,
    limit: 1_000,
    standing: undefined,
  })) as unknown as PlanItem[]
  return new Map(items.map((item) => [item.name, item]))
}

const idOf = async (ref: string): Promise<string> => (await instanceOf(db, world.source.name, ref)).id

test('a plan counts a disk that is copied while off as downtime once that is waived, and blocks what no waiver can', async () => {
  const second = (phase: string, bytes: number) => db`
    insert into entry_history (id, source_id, target_id, phase, bytes, took_ms)
    values (gen_random_uuid(), ${world.source.id}, ${world.target.id}, ${phase}, ${bytes}, 1000)`
  await second('background-import', 2 ** 30)
  for (const phase of ['source-stop', 'post-import', 'final-verify']) await second(phase, 0)
  await second('final-import', 2 ** 30)
  const names = ['scan-independent', 'cluster-disk', 'erp-rdm']
  const made = await call('POST', '/v1/batches', {
    json: {
      name: 'odd-disks',
      include_expression: `name in ${JSON.stringify(names)}`,
      defaults: { placement: { target: 'cloud' } },
      config: { placement_scriptlet: fittingScript },
    },
  })
  expect(made.status).toBe(201)
  await runAll('start-batch')
  const before = await planOf('odd-disks')
  expect(before.get('scan-independent')).toMatchObject({
    standing: 'blocked',
    reasons: expect.arrayContaining([expect.objectContaining({ code: 'disk-independent' })]),
  })
  const waive = async (rule: string, ref: string) =>
    call('POST', '/v1/waivers', { json: { rule, instance_id: await idOf(ref), reason: 'It may be off.' } })
  expect((await waive('disk-independent', 'vm-202')).status).toBe(201)
  for (const [rule, ref] of [
    ['disk-shared', 'vm-208'],
    ['disk-raw-mapping', 'vm-201'],
  ] as const) {
    expect((await waive(rule, ref)).status).toBe(422)
    const path = `/v1/instances/${await idOf(ref)}/overrides`
    const headers = { 'if-match': '*' }
    expect((await call('PUT', path, { json: { ignore_restrictions: true }, headers })).status).toBe(200)
  }
  const after = await planOf('odd-disks')
  const off = after.get('scan-independent')
  expect(off).toMatchObject({ standing: 'goes', tracked: false, reasons: [] })
  expect(off?.bytes).toBeGreaterThan(0)
  expect(off?.bytes_while_off).toBe(off?.bytes)
  expect(off?.downtime_ms?.p50).toBe(3_000 + Math.round(((off?.bytes ?? 0) / 2 ** 30) * 1_000))
  expect(after.get('cluster-disk')).toMatchObject({ standing: 'blocked', placement: null })
  expect(after.get('erp-rdm')).toMatchObject({ standing: 'blocked', placement: null })
  expect(after.get('cluster-disk')?.reasons.map(({ code }) => code)).toContain('disk-shared')
  expect(after.get('erp-rdm')?.reasons.map(({ code }) => code)).toContain('disk-raw-mapping')
})

// promise: waived-disk
test.each([
  ['vm-208', 'disk-shared'],
  ['vm-201', 'disk-raw-mapping'],
])(
  'what can never be copied (%s) is blocked before anything is made, also where an old waiver stands',
  async (ref, rule) => {
    await setBatch(world, {
      config: {
        placement_scriptlet: `function placement({ nics }) {
        for (const nic of nics) setNetwork(nic.mac, 'bridge-shop', 'bridged', 10)
      }`,
        instance_restriction_overrides: { allow_no_background_import: true, allow_no_ipv4: true },
      },
    })
    const id = await waitingEntry(world, ref)
    await db`update finding set waived = true where instance_id = ${await idOf(ref)}::uuid and rule = ${rule}`
    await worker.finish(await sendPlace(world, id))
    const entry = await entryOf(db, id)
    expect(entry).toMatchObject({ state: 'blocked', placement: null, machineRef: null })
    expect(codesOf(entry)).toEqual(['disk-not-copyable'])
    expect(await oursOf(world, id)).toEqual([])
    expect(await db`select kind from effect where job_id = ${entry.jobId ?? id}::uuid`).toEqual([])
  },
)
