import { v7 as uuidv7 } from 'uuid'
import { expect, test } from 'vitest'
import { makeSite } from '../../support/inventory.ts'
import { addOne } from '../../support/ledger.ts'
import { createOperatingWorld } from '../../support/operating.ts'

const world = await createOperatingWorld()
const { db, lab, site } = world
/** Another place that has machines with the same UUIDs. */
const elsewhere = await makeSite(db, {
  ...{ role: 'source', name: 'old', connectivity: 'ok', quiet: true },
  ...{ endpoint: lab.endpoint('cloud'), password: lab.password },
})
const other = await lab.signIn('cloud')

/** A machine that is off, and the same VM as `vm-1` of the other place. */
const doubled = async (ref: string) => {
  await site.done(`POST /instances/${ref}/power`, { verb: 'stop' })
  const id = await world.machine(ref, 'off')
  const { uuid } = await world.row(id)
  const instanceId = uuidv7()
  await db`delete from instance where site_id = ${elsewhere.id}::uuid`
  await db`
    insert into instance (id, site_id, ref, name, hash, revision, uuid, location, facts, os_type, distribution,
      distribution_version)
    values (${instanceId}::uuid, ${elsewhere.id}::uuid, 'vm-1', 'web', 'h', 1, ${uuid}, '/web', '{}', 'linux', 'debian',
      '12')`
  return { id, instanceId }
}
const switchOther = (verb: 'start' | 'stop') => other.done('POST /instances/vm-1/power', { verb })

// promise: one-copy
test('a machine is not started while the same VM runs elsewhere, and is once that one is off', async () => {
  const { id } = await doubled('vm-101')
  const refused = await world.done(id, 'start')
  expect(refused).toMatchObject({ state: 'failed', reason: 'runs-elsewhere' })
  expect(refused.message).toContain('web (vm-1) of old')
  expect((await world.power('vm-101')).state).toBe('off')
  await switchOther('stop')
  expect(await world.done(id, 'start')).toMatchObject({ state: 'completed' })
  await world.done(id, 'stop', { force: true })
  await switchOther('start')
})

test('what a sync has seen running elsewhere is refused at once', async () => {
  const { id, instanceId } = await doubled('vm-102')
  await db`update instance set facts = '{"power_state": "on"}' where id = ${instanceId}::uuid`
  await expect(world.ask(id, 'start')).rejects.toMatchObject({ code: 'runs-elsewhere' })
})

test('while somebody may start it elsewhere at any moment it is not started here', async () => {
  const { id, instanceId } = await doubled('vm-103')
  const subject = { type: 'instance', id: instanceId }
  const job = await addOne(db, {
    ...{ kind: 'power-instance', subject, payload: { instance: instanceId, verb: 'start' } },
  })
  const refusal = { code: 'starts-elsewhere', message: expect.stringContaining(job) }
  await expect(world.ask(id, 'start')).rejects.toMatchObject(refusal)
})

test('while the other place does not answer the start waits and says for whom, and is done when it answers', async () => {
  const { id } = await doubled('vm-104')
  await switchOther('stop')
  await world.fault({
    ...{ kind: 'error', call: 'power', site: 'cloud', times: 2 },
    ...{ code: 'platform-unreachable', failure: 'unknown' },
  })
  const start = await world.ask(id, 'start')
  const waiting = await world.turn(start)
  expect(waiting).toMatchObject({ state: 'running', reason: 'runs-elsewhere' })
  expect(waiting.message).toContain('web (vm-1) of old')
  expect((await world.power('vm-104')).state).toBe('off')
  expect(await world.finish(start)).toMatchObject({ state: 'completed' })
})

test('a copy that a migration did not verify is not started beside its source, whatever its row says', async () => {
  const { id, instanceId } = await doubled('vm-105')
  const { ref } = await world.row(id)
  await db`
    insert into entry (id, batch_id, instance_id, source_id, target_id, state, stage, reason, message, revision, facts,
      running, machine_ref)
    values (${uuidv7()}::uuid, ${uuidv7()}::uuid, ${instanceId}::uuid, ${elsewhere.id}::uuid, ${uuidv7()}::uuid,
      'canceled', 'background', 'x', '', 1, '{}', true, 'copy-1')`
  await db`update machine set origin = 'copy', instance_id = ${instanceId}::uuid where id = ${id}::uuid`
  for (const kind of ['start', 'restart', 'wake', 'restore'] as const)
    await expect(
      world.ask(id, kind, { params: kind === 'restore' ? { snapshot: 'x' } : {} }),
      `${kind} of ${ref}`,
    ).rejects.toMatchObject({ code: 'unproven-copy' })
})
