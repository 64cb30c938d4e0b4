import { expect, test } from 'vitest'
import type { Tx } from '../../../db/client.ts'
import { systemClock } from '../../../src/clock.ts'
import type { Baseline } from '../../../src/migration/cutover/take-baseline.ts'
import { undoSourceStop } from '../../../src/migration/source/start-source.ts'
import { afterWrites, createCopyWorker } from '../../support/copy-worker.ts'
import {
  createEntryWorld,
  differences,
  entryOf,
  eventsOfEntry,
  overlapsOf,
  placeEntry,
  powerOf,
  sendTo,
  snapshotsOf,
} from '../../support/entry-world.ts'
import { createLab } from '../../support/lab.ts'
import { effectsOf } from '../../support/ledger.ts'
import { createDatabase } from '../../support/postgres.ts'

const { db } = await createDatabase()
const lab = await createLab()
const probes = [
  { name: 'ssh', ports: [22, 81] },
  { name: 'of-others', ports: [443], include_expression: 'name == "elsewhere"' },
]
const world = await createEntryWorld(db, lab, { config: { guest_shutdown_limit: '4s' }, probes })
const worker = createCopyWorker(world)

test('a cutover after a first copy switches the source off, copies the rest and fits the target', async () => {
  const entry = await placeEntry(world, 'vm-103')
  await worker.finish(await sendTo(world, entry.id, 'import-instance'))
  const job = await worker.finish(await sendTo(world, entry.id, 'cutover-instance'))
  expect(job).toMatchObject({ state: 'succeeded', result: { cycle: 2, debts: 0 } })
  const after = await entryOf(db, entry.id)
  expect(after).toMatchObject({ state: 'worker-done', stage: 'complete', jobId: null })
  expect(after.sourceStoppedAt).not.toBeNull()
  expect(await powerOf(world.from, 'vm-103')).toBe('off')
  expect(await differences(world, after)).toEqual([])
  expect(await snapshotsOf(world, 'vm-103')).toEqual([])
  const baseline = after.baseline as unknown as Baseline
  expect(baseline).toMatchObject({
    power: 'on',
    guest: { agent: 'running', hostname: 'db-01' },
    asked_ports: [22, 81],
    open_ports: [22],
  })
  const { json } = await world.to.call(`GET /instances/${after.machineRef}`)
  const { facts } = json as { facts: Record<string, unknown> & { nics: { network: string; mac: string }[] } }
  expect(facts).toMatchObject({ cpus: 8, memory: 32 * 1024 ** 3, attributes: { owner: 'payments' } })
  expect(facts.nics.map(({ network }) => network)).toEqual(['bridge-shop'])
  expect(await eventsOfEntry(db, entry.id)).toEqual([
    'entry.sync-begin',
    'entry.sync-done',
    'entry.cutover-begin',
    'entry.copied',
    'entry.post-begin',
    'entry.post-done',
  ])
  expect(await overlapsOf(lab)).toEqual([])
  expect(await db`select phase from entry_history order by at, id`).toEqual(
    ['background-import', 'source-stop', 'final-import', 'post-import'].map((phase) => ({ phase })),
  )
})

test('a source that is off already is not ours to start again, and a guest that hangs loses its plug', async () => {
  const off = await placeEntry(world, 'vm-112')
  expect(await worker.finish(await sendTo(world, off.id, 'cutover-instance'))).toMatchObject({
    state: 'succeeded',
  })
  const resting = await entryOf(db, off.id)
  expect(resting).toMatchObject({ state: 'worker-done', sourceStoppedAt: null, baseline: { power: 'off' } })
  expect(await differences(world, resting)).toEqual([])

  const hanging = await placeEntry(world, 'vm-210')
  const job = await worker.finish(await sendTo(world, hanging.id, 'cutover-instance'))
  expect(job).toMatchObject({ state: 'succeeded' })
  expect(await powerOf(world.from, 'vm-210')).toBe('off')
  const stops = (await effectsOf(db, job.id)).filter(({ kind }) => kind === 'source-stop')
  expect(stops.map(({ state }) => state)).toEqual(['done', 'done'])
})

test('a source that somebody starts during the final copy is switched off again and copied anew', async () => {
  const entry = await placeEntry(world, 'vm-104')
  const id = await sendTo(world, entry.id, 'cutover-instance')
  const meddling = createCopyWorker(
    world,
    afterWrites(1, () => world.from.done('POST /instances/vm-104/power', { verb: 'start' })),
  )
  const job = await meddling.finish(id)
  expect(job).toMatchObject({ state: 'succeeded', result: { cycle: 2 } })
  expect(await powerOf(world.from, 'vm-104')).toBe('off')
  expect(await differences(world, await entryOf(db, entry.id))).toEqual([])
})

test('a cutover that cannot go on starts the source again, after our copy is proved off', async () => {
  const entry = await placeEntry(world, 'vm-106')
  await lab.admin('POST /lab/faults', {
    kind: 'error',
    call: 'write',
    site: 'cloud',
    code: 'platform-permission',
    failure: 'refused',
  })
  const job = await worker.finish(await sendTo(world, entry.id, 'cutover-instance'))
  await lab.admin('DELETE /lab/faults')
  expect(job).toMatchObject({ state: 'failed', error: { code: 'platform-permission' } })
  expect(await powerOf(world.from, 'vm-106')).toBe('on')
  expect(await snapshotsOf(world, 'vm-106')).toEqual([])
  expect((await effectsOf(db, job.id)).map(({ state }) => state)).toEqual(['undone', 'undone'])
  expect(await overlapsOf(lab)).toEqual([])
})

test('while our copy cannot be seen the source stays off, as a debt', async () => {
  const entry = await placeEntry(world, 'vm-109')
  const faults = [
    { kind: 'error', call: 'write', site: 'cloud', code: 'platform-permission', failure: 'refused' },
    { kind: 'error', call: 'find-owned', site: 'cloud', code: 'platform-unreachable', failure: 'unknown' },
  ]
  for (const fault of faults) await lab.admin('POST /lab/faults', fault)
  const job = await worker.finish(await sendTo(world, entry.id, 'cutover-instance'))
  await lab.admin('DELETE /lab/faults')
  expect(job.state).toBe('failed')
  expect(await powerOf(world.from, 'vm-109')).toBe('off')
  const stop = (await effectsOf(db, job.id)).find(({ kind }) => kind === 'source-stop')
  expect(stop).toMatchObject({ state: 'debt', error: { code: 'platform-unreachable' } })
})

test('a source with another identity is not touched', async () => {
  const entry = await placeEntry(world, 'vm-111')
  await lab.admin('PATCH /lab/sites/vcenter/instances/vm-111', {
    uuid: '11111111-1111-4111-8111-111111111111',
  })
  const job = await worker.finish(await sendTo(world, entry.id, 'cutover-instance'))
  expect(job.state).toBe('succeeded')
  expect(await entryOf(db, entry.id)).toMatchObject({ state: 'error', reason: 'identity-changed' })
  expect(await powerOf(world.from, 'vm-111')).toBe('on')
})

test('a debt of an earlier cutover does not start the source under a later one', async () => {
  const entry = await placeEntry(world, 'vm-108')
  const faults = [
    { kind: 'error', call: 'write', site: 'cloud', code: 'platform-permission', failure: 'refused' },
    { kind: 'error', call: 'find-owned', site: 'cloud', code: 'platform-unreachable', failure: 'unknown' },
  ]
  for (const fault of faults) await lab.admin('POST /lab/faults', fault)
  const failed = await worker.finish(await sendTo(world, entry.id, 'cutover-instance'))
  await lab.admin('DELETE /lab/faults')
  const orders = { source: 'start', target: 'keep' }
  await worker.finish(await sendTo(world, entry.id, 'withdraw-entry', orders))
  expect(await powerOf(world.from, 'vm-108')).toBe('on')
  await db`update entry set state = 'idle', stage = 'final' where id = ${entry.id}::uuid`
  await worker.finish(await sendTo(world, entry.id, 'cutover-instance'))
  expect(await powerOf(world.from, 'vm-108')).toBe('off')
  const debt = (await effectsOf(db, failed.id)).find(({ kind }) => kind === 'source-stop')
  if (!debt) throw new Error('There is no debt.')
  expect(debt.state).toBe('debt')
  await undoSourceStop({
    ...{ effect: debt, db, clock: systemClock, usePlatform: world.inventory.use },
    signal: AbortSignal.timeout(60_000),
    confirm: () => {},
    fenced: (change) => db.begin((tx) => change(tx as Tx)).then(() => {}),
  })
  expect(await powerOf(world.from, 'vm-108')).toBe('off')
})
