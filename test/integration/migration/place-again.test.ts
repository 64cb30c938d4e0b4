import { expect, test } from 'vitest'
import type { InstanceFacts } from '../../../src/domain/inventory/facts.ts'
import type { InstanceOverrides } from '../../../src/domain/inventory/overrides.ts'
import { advanceEntries } from '../../../src/migration/batch/scheduler.ts'
import { clientOf, depsOver } from '../../api/setup.ts'
import { driveEntry } from '../../support/drive-entry.ts'
import { entryOf } from '../../support/entry-world.ts'
import { quietLog } from '../../support/events.ts'
import { instanceOf, makeSite } from '../../support/inventory.ts'
import { createLab } from '../../support/lab.ts'
import { jobOf } from '../../support/ledger.ts'
import {
  addMachine,
  codesOf,
  fittingScript,
  oursOf,
  sendPlace,
  setBatch,
  waitingEntry,
} from '../../support/placing.ts'
import { createPlacing } from '../../support/placing-worker.ts'
import { createDatabase } from '../../support/postgres.ts'
import { until } from '../../support/wait.ts'

const { db } = await createDatabase()
const lab = await createLab()
const { world: made, worker, place } = await createPlacing(db, lab)
const world = { ...made, worker }
await setBatch(world, { config: { placement_scriptlet: fittingScript } })

const override = (ref: string, overrides: InstanceOverrides) => db`
  update instance set overrides = ${JSON.stringify(overrides)}::text::jsonb, version = version + 1
  where site_id = ${world.source.id}::uuid and ref = ${ref}`

const machineOf = async (ref: string | null) => {
  const { json } = await world.to.call(`GET /instances/${ref}`)
  return (json as { facts: InstanceFacts }).facts
}

test('a blocked entry is placed by what is known of its instance when it is tried again', async () => {
  await addMachine(world, { name: 'web-01' })
  const id = await waitingEntry(world, 'vm-101')
  await place(id)
  expect(codesOf(await entryOf(db, id))).toEqual(['name-taken'])
  await override('vm-101', { name: 'web-one', cpus: 3, stopped_after: true })
  await driveEntry(world, id, ['idle'])
  const entry = await entryOf(db, id)
  expect(entry).toMatchObject({ state: 'idle', running: false, facts: { target_name: 'web-one', cpus: 3 } })
  expect(await machineOf(entry.machineRef)).toMatchObject({ name: 'web-one', cpus: 3 })
  expect(await instanceOf(db, world.source.name, 'vm-101')).toMatchObject({
    frozenBy: `batch/${world.batch.name}`,
  })
})

test('what changes while its place is chosen is chosen by again, and nothing else is made', async () => {
  const id = await waitingEntry(world, 'vm-102')
  await db`update entry set state = 'blocked' where id = ${id}::uuid`
  const jobId = await sendPlace(world, id)
  await lab.admin('POST /lab/faults', {
    kind: 'delay',
    call: 'find-owned',
    site: 'cloud',
    ms: 3_000,
    times: 1,
  })
  const turn = worker.finish(jobId)
  await until(
    async () => {
      const { json } = await lab.admin('GET /lab/faults')
      return (json as { faults: { struck: number }[] }).faults.some(({ struck }) => struck > 0)
    },
    { what: 'the worker to look at the target' },
  )
  await override('vm-102', { cpus: 5 })
  await turn
  await lab.admin('DELETE /lab/faults')
  const entry = await entryOf(db, id)
  expect(entry).toMatchObject({ state: 'idle', facts: { cpus: 5 } })
  expect(await machineOf(entry.machineRef)).toMatchObject({ cpus: 5 })
  expect(await oursOf(world, id)).toEqual([entry.machineRef])
})

test.each([
  ['vm-103', 'instance-gone', db`gone_at = now()`, db`gone_at = null`],
  ['vm-106', 'instance-ignored', db`ignored = 'template'`, db`ignored = null`],
])('%s, %s by the time it is placed, is not made on the target', async (ref, code, change, undo) => {
  const id = await waitingEntry(world, ref)
  const set = (to: typeof change) => db`
    update instance set ${to} where site_id = ${world.source.id}::uuid and ref = ${ref}`
  await set(change)
  await place(id)
  expect(await entryOf(db, id)).toMatchObject({ state: 'blocked', reason: code, machineRef: null })
  expect(await oursOf(world, id)).toEqual([])
  await set(undo)
  await driveEntry(world, id, ['idle'])
  expect(await entryOf(db, id)).toMatchObject({ state: 'idle', reasons: [] })
})

test('a target that nothing goes to holds nobody back, and room is asked for where the script sends it', async () => {
  const site = { role: 'target' as const, quiet: true, password: lab.password }
  await makeSite(db, { ...site, name: 'dead', connectivity: 'cannot-connect' })
  await makeSite(db, { ...site, name: 'other', connectivity: 'ok', endpoint: lab.endpoint('cloud') })
  const sentTo = (target: string) =>
    setBatch(world, {
      defaults: { placement: { target: 'dead', storage_pool: 'local' } },
      config: {
        placement_scriptlet: `${fittingScript}; const p = placement
          globalThis.placement = (instance) => { p(instance); setTarget('${target}') }`,
      },
    })
  await sentTo('other')
  const id = await waitingEntry(world, 'vm-104')
  await driveEntry(world, id, ['idle'])
  const [job] = await db<{ id: string }[]>`
    select id from job where kind = 'place-instance' and subject_id = ${id} order by id desc limit 1`
  expect(await jobOf(db, job?.id ?? '')).toMatchObject({
    state: 'succeeded',
    tokens: ['target-creates/other'],
    attempt: 0,
  })
  expect(await entryOf(db, id)).toMatchObject({ state: 'idle', placement: { target: 'other' } })
  expect(await db`select from token_hold where token like 'target-creates/%'`).toEqual([])
  await sentTo('dead')
  const stuck = await waitingEntry(world, 'vm-105')
  await place(stuck)
  expect(codesOf(await entryOf(db, stuck))).toEqual(['target-not-connected'])
})

const call = clientOf(depsOver(db))
const ifAny = { 'if-match': '*' }

/** Whether the scheduler sends it to be placed again, by the clock as it is. */
const isTried = async (id: string): Promise<boolean> => {
  await advanceEntries({ db, log: quietLog })
  return (await entryOf(db, id)).jobId !== null
}

/** An entry whose placement has just failed, and that rests. */
const blockedEntry = async (ref: string): Promise<string> => {
  const id = await waitingEntry(world, ref)
  await place(id)
  expect(await entryOf(db, id)).toMatchObject({ state: 'blocked', tries: 1 })
  // As often as it takes for the longest pause.
  await db`update entry set tries = 10 where id = ${id}::uuid`
  expect(await isTried(id)).toBe(false)
  return id
}

test('an entry that is blocked goes on at once when what it lands by changes', async () => {
  await setBatch(world, {})
  const id = await blockedEntry('vm-107')
  expect(codesOf(await entryOf(db, id))).toEqual(['network-absent'])
  const { facts } = await instanceOf(db, world.source.name, 'vm-107')
  const [network] = await db<{ id: string }[]>`
    select id from network where site_id = ${world.source.id}::uuid and ref = ${facts.nics[0]?.network_ref ?? ''}`
  const mapped = { network: 'bridge-shop', nictype: 'bridged', vlan_id: '10' }
  const put = await call('PUT', `/v1/networks/${network?.id}/overrides`, { json: mapped, headers: ifAny })
  expect(put.status).toBe(200)
  expect(await isTried(id)).toBe(true)
  await driveEntry(world, id, ['idle'])
  await call('DELETE', `/v1/networks/${network?.id}/overrides`, { headers: ifAny })

  const other = await blockedEntry('vm-108')
  const { id: instanceId } = await instanceOf(db, world.source.name, 'vm-108')
  const path = `/v1/instances/${instanceId}/overrides`
  expect((await call('PUT', path, { json: { cpus: 1 }, headers: ifAny })).status).toBe(200)
  expect(await isTried(other)).toBe(true)
  await worker.finish(String((await entryOf(db, other)).jobId))
  await db`update entry set tries = 10 where id = ${other}::uuid`
  expect(await isTried(other)).toBe(false)
  const patch = { json: { settings: { create_limit: 9 } }, headers: ifAny }
  expect((await call('PATCH', `/v1/targets/${world.target.name}`, patch)).status).toBe(200)
  expect(await isTried(other)).toBe(true)
})

test('a script that fails can be mended while its batch runs, and is asked again at once', async () => {
  const batch = (script: string) => ({
    name: world.batch.name,
    include_expression: 'true',
    defaults: { placement: { target: world.target.name, storage_pool: 'local' } },
    config: { placement_scriptlet: script },
  })
  const put = (script: string) =>
    call('PUT', `/v1/batches/${world.batch.name}`, { json: batch(script), headers: ifAny })
  const broken = 'function placement(instance) { instance.nothing.at.all() }'
  await setBatch(world, { config: { placement_scriptlet: broken } })
  await db`delete from entry where batch_id = ${world.batch.id}::uuid`
  const id = await blockedEntry('vm-109')
  expect(codesOf(await entryOf(db, id))).toContain('placement-script-failed')
  expect((await put(fittingScript)).status).toBe(200)
  expect(await isTried(id)).toBe(true)
  await driveEntry(world, id, ['idle'])
  expect(await entryOf(db, id)).toMatchObject({ state: 'idle', error: null })
  await waitingEntry(world, 'vm-110')
  expect((await put(broken)).status).toBe(422)
})
