import { v7 as uuidv7 } from 'uuid'
import { expect, test } from 'vitest'
import { keepRunPolicies } from '../../../src/operation/upkeep/keep-run-policies.ts'
import { makeSite } from '../../support/inventory.ts'
import { createOperatingWorld } from '../../support/operating.ts'
import { strictLog } from '../../support/strict-log.ts'

const world = await createOperatingWorld()
const { db, site, target } = world
/** The same place as the target: its machines are to go elsewhere. */
const source = await makeSite(db, { role: 'source', name: 'vc', endpoint: target.endpoint, quiet: true })

/** An entry of the machine with that id at a source, whose own copy is at another target. */
const entryOf = async (at: {
  readonly siteId: string
  readonly ref: string
  readonly uuid: string
  readonly state: string
  /** Its copy; not given: at a target that nobody operates. */
  readonly copy?: string
}): Promise<string> => {
  const [entryId, instanceId] = [uuidv7(), uuidv7()]
  await db`
    insert into instance (id, site_id, ref, name, hash, revision, uuid, location, facts, os_type, distribution,
      distribution_version)
    values (${instanceId}::uuid, ${at.siteId}::uuid, ${at.ref}, 'web', 'h', 1, ${at.uuid}, '/web', '{}', 'linux',
      'debian', '12')`
  await db`
    insert into entry (id, batch_id, instance_id, source_id, target_id, state, stage, reason, message, revision, facts,
      running, machine_ref, source_stopped_at)
    values (${entryId}::uuid, ${uuidv7()}::uuid, ${instanceId}::uuid, ${at.siteId}::uuid, ${at.copy ? target.id : uuidv7()}::uuid,
      ${at.state}, 'complete', 'x', '', 1, '{}', true, ${at.copy ?? 'copy-1'}, now())`
  return entryId
}

/** A machine that is off, as a migration left its source. */
const stopped = async (ref: string) => {
  await site.done(`POST /instances/${ref}/power`, { verb: 'stop' })
  const id = await world.machine(ref, 'off')
  return { id, uuid: (await world.row(id)).uuid }
}

const kinds = ['start', 'restart', 'stop', 'snapshot', 'wake', 'clone'] as const
const paramsOf = { snapshot: { name: 'x' }, clone: { name: 'x' } } as Record<string, Record<string, unknown>>

test('nothing is done to the source of a migration that has switched it off', async () => {
  const { id, uuid } = await stopped('vm-101')
  const entry = await entryOf({ siteId: source.id, ref: 'vm-101', uuid, state: 'worker-done' })
  for (const kind of kinds)
    await expect(
      world.ask(id, kind, { force: kind === 'stop' || kind === 'restart', params: paramsOf[kind] ?? {} }),
      kind,
    ).rejects.toMatchObject({ code: 'in-migration', detail: { blocker: entry } })
})

// promise: source-stays-off
test('a machine that was migrated away is not started where it was, and can be stopped there', async () => {
  const { id, uuid } = await stopped('vm-102')
  // Its UUID may be another by now: at one place the id is enough.
  const entry = await entryOf({ siteId: source.id, ref: 'vm-102', uuid: `${uuid}-before`, state: 'finished' })
  for (const kind of ['start', 'restart', 'wake'] as const)
    await expect(world.ask(id, kind, { force: kind === 'restart' })).rejects.toMatchObject({
      ...{ code: 'migrated', detail: { blocker: entry }, remedy: expect.stringContaining('Never run both') },
    })
  await site.done('POST /instances/vm-102/power', { verb: 'start' })
  await db`update machine set power = 'on' where id = ${id}::uuid`
  expect(await world.done(id, 'stop', { force: true })).toMatchObject({ state: 'completed' })
})

// promise: source-stays-off
test('a run policy starts no machine that a migration has switched off or taken away', async () => {
  for (const [ref, state] of [
    ['vm-103', 'post-import'],
    ['vm-104', 'finished'],
  ] as const) {
    const { id, uuid } = await stopped(ref)
    await entryOf({ siteId: source.id, ref, uuid, state })
    await db`update machine set run_policy = 'always-on' where id = ${id}::uuid`
    await keepRunPolicies(db, strictLog)
    expect(await db`select kind from operation where machine_id = ${id}::uuid`).toEqual([])
    expect(await db`select reason from operation_refusal where machine_id = ${id}::uuid`).toEqual([])
  }
})

test('a start that waited for its turn while a migration took the machine does not start it', async () => {
  const { id, uuid } = await stopped('vm-105')
  const start = await world.ask(id, 'start')
  const entry = await entryOf({ siteId: source.id, ref: 'vm-105', uuid, state: 'post-import' })
  expect(await world.finish(start)).toMatchObject({ state: 'failed', reason: 'in-migration' })
  expect((await world.operation(start.id)).message).toContain(entry)
  expect((await world.power('vm-105')).state).toBe('off')
})

test('the copy at another place has the UUID of its source, maybe its id too, and is operated', async () => {
  const elsewhere = await makeSite(db, { role: 'source', name: 'old', quiet: true })
  const { id, uuid } = await stopped('vm-106')
  await entryOf({ siteId: elsewhere.id, ref: 'vm-1106', uuid, state: 'finished', copy: 'vm-106' })
  expect(await world.done(id, 'start')).toMatchObject({ state: 'completed' })
  const same = await stopped('vm-107')
  await entryOf({ siteId: elsewhere.id, ref: 'vm-107', uuid: same.uuid, state: 'finished', copy: 'vm-107' })
  const identify = async (siteId: string, instance: string) =>
    db`update site set identity = jsonb_build_object('instance_id', ${instance}::text) where id = ${siteId}::uuid`
  await identify(elsewhere.id, 'old')
  await identify(target.id, 'new')
  expect(await world.done(same.id, 'start')).toMatchObject({ state: 'completed' })
})
