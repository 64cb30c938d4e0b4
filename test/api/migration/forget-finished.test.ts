import { v7 as uuidv7 } from 'uuid'
import { beforeEach, expect, test } from 'vitest'
import { createConsole } from '../../../src/console/console.ts'
import { createDatabase } from '../../support/postgres.ts'
import { eventTypes } from '../inventory/inventory-rows.ts'
import { clientOf, depsOver } from '../setup.ts'
import {
  addFleet,
  defineBatch,
  emptyMigration,
  moveRow,
  restEntries,
  runJobs,
  startBatch,
} from './batch-rows.ts'

const database = await createDatabase()
const { db } = database
const deps = depsOver(db)
const call = clientOf({ ...deps, console: createConsole(deps) })
const anyVersion = { headers: { 'if-match': '*' } }

beforeEach(async () => {
  await emptyMigration(db)
  await db`truncate machine`
})

/** A started batch of these instances; the ids of their entries by name. */
const begin = async (names: readonly string[]) => {
  await addFleet(db, names)
  await startBatch(db, call, { include_expression: 'true' })
  await restEntries(db)
  const { body } = await call('GET', '/v1/queue')
  return Object.fromEntries(body.items.map(({ name, id }) => [String(name), String(id)]))
}

/** As final-verify leaves it: its machine is operated on the target. */
const finish = async (entryId: string, ref: string): Promise<void> => {
  await moveRow(db, entryId, { state: 'finished', stage: 'complete' })
  await db`update entry set machine_ref = ${ref}, target_id = (select id from site where name = 'oslo') where id = ${entryId}::uuid`
  await db`
    insert into machine (id, target_id, ref, name, uuid, project, host, power, cpus, memory, origin, entry_id, instance_id)
    select ${uuidv7()}::uuid, e.target_id, ${ref}, i.name, i.uuid, 'default', 'node-1', 'on', 1, 1, 'migrated', e.id, i.id
    from entry e join instance i on i.id = e.instance_id where e.id = ${entryId}::uuid`
}

const power = (instanceId: unknown, verb: string) =>
  call('POST', `/v1/instances/${String(instanceId)}/:power`, { json: { verb } })

// promise: forget-confirmed
test('a reset tells which finished migrations it forgets, and does nothing before their number is confirmed', async () => {
  const ids = await begin(['web-1', 'web-2', 'web-3'])
  await finish(ids['web-1'] ?? '', 'vm-1')
  await finish(ids['web-2'] ?? '', 'vm-2')
  const reset = (json: unknown) => call('POST', '/v1/batches/wave-1/:reset', { json })
  for (const confirmed of [undefined, 0, 1, 3]) {
    const refused = await reset({ force: true, confirm_finished: confirmed })
    expect([refused.status, refused.body.code]).toEqual([409, 'finished-not-confirmed'])
    expect(refused.body).toMatchObject({ matched: 2, sample: ['web-1', 'web-2'], field: 'confirm_finished' })
    expect(refused.body.detail).toContain('the sources stay off')
  }
  expect((await call('GET', '/v1/batches/wave-1')).body.state).toBe('running')
  expect(await db`select intent from entry where intent is not null`).toEqual([])
  expect((await reset({ force: true, confirm_finished: 2 })).status).toBe(202)
})

test('a finished entry is taken off the list only when a person says that it may be forgotten', async () => {
  const ids = await begin(['web-1'])
  const path = `/v1/queue/${ids['web-1']}`
  await finish(ids['web-1'] ?? '', 'vm-1')
  const refused = await call('DELETE', path, anyVersion)
  expect([refused.status, refused.body.code]).toEqual([409, 'finished-not-confirmed'])
  expect((await call('DELETE', `${path}?confirm_finished=1`, anyVersion)).status).toBe(204)
})

test('whatever was tidied away, a migrated instance is not started, and stays out of lists, plans and batches', async () => {
  const ids = await begin(['web-1', 'web-2'])
  await db`update site set connectivity = 'ok'`
  await finish(ids['web-1'] ?? '', 'vm-1')
  const [row] = await db<{ instanceId: string }[]>`
    select instance_id from entry where id = ${ids['web-1'] ?? ''}::uuid`
  await call('DELETE', `/v1/queue/${ids['web-1']}?confirm_finished=1`, anyVersion)
  await db`update instance set frozen_by = null`
  for (const verb of ['start', 'restart']) {
    const refused = await power(row?.instanceId, verb)
    expect([refused.status, refused.body.code]).toEqual([409, 'vm-would-run-twice'])
    expect(refused.body.detail).toContain('web-1 (vm-1) of oslo')
  }
  const listed = async (query: string) =>
    (await call('GET', `/v1/instances${query}`)).body.items.map(({ name }) => name)
  expect(await listed('')).toEqual(['web-2'])
  expect(await listed('?migrated=true')).toEqual(['web-1'])
  const { totals } = (await call('GET', '/v1/assessment')).body as never as { totals: object }
  expect(totals).toMatchObject({ instances: 1, migrated: 1 })
  const { counts } = (await call('GET', '/v1/sources/paris')).body
  expect(counts).toMatchObject({ instances: 1, ready: 1, migrated: 1, ignored: 0 })
  await defineBatch(db, call, { name: 'wave-2', include_expression: 'true' })
  await call('POST', '/v1/batches/wave-2/:start')
  await runJobs(db, 'start-batch')
  expect(await db`select id from entry where instance_id = ${row?.instanceId ?? ''}::uuid`).toEqual([])
  const members = (await call('GET', '/v1/batches/wave-2/instances?standing=excluded')).body.items
  expect(members.find(({ name }) => name === 'web-1')).toMatchObject({
    reasons: [{ code: 'already-migrated' }],
  })
})

test('a machine that runs although it was migrated can be stopped', async () => {
  const ids = await begin(['web-1'])
  await db`update site set connectivity = 'ok', capabilities = '{}'`
  await finish(ids['web-1'] ?? '', 'vm-1')
  const [row] = await db<{ instanceId: string }[]>`select instance_id from entry`
  await db`update instance set frozen_by = null`
  expect((await power(row?.instanceId, 'stop')).status).toBe(202)
})

// promise: forget-confirmed
test('an entry that has a copy on its target goes with the copy, or not at all', async () => {
  const ids = await begin(['web-1'])
  const id = ids['web-1'] ?? ''
  await moveRow(db, id, { state: 'canceled' })
  await db`update entry set machine_ref = 'vm-9', placement = '{"target": "oslo"}' where id = ${id}::uuid`
  const refused = await call('DELETE', `/v1/queue/${id}`, anyVersion)
  expect([refused.status, refused.body.code, refused.body.field]).toEqual([409, 'entry-has-copy', 'cleanup'])
  expect(refused.body.detail).toContain('vm-9')
  const batch = await (async () => {
    await db`update batch set state = 'finished'`
    return call('DELETE', '/v1/batches/wave-1', anyVersion)
  })()
  expect([batch.status, batch.body.code]).toEqual([409, 'batch-has-copies'])
  expect(await db`select id from entry`).toHaveLength(1)
  const leaving = await call('DELETE', `/v1/queue/${id}?cleanup=true`, anyVersion)
  expect([leaving.status, leaving.body]).toEqual([202, { removing: true }])
  expect(await db`select intent from entry`).toMatchObject([{ intent: { verb: 'reset' } }])
  expect(await eventTypes(db)).toContain('entry.removal-asked')
})

test('removing a batch tells which finished migrations it forgets', async () => {
  const ids = await begin(['web-1', 'web-2'])
  for (const [at, id] of Object.values(ids).entries()) await finish(id, `vm-${at}`)
  await db`update batch set state = 'finished'`
  const refused = await call('DELETE', '/v1/batches/wave-1', anyVersion)
  expect([refused.status, refused.body.code, refused.body.matched]).toEqual([
    409,
    'finished-not-confirmed',
    2,
  ])
  expect((await call('DELETE', '/v1/batches/wave-1?confirm_finished=2', anyVersion)).status).toBe(204)
})

test('the page of a migrated machine says so, and offers no start that could only be refused', async () => {
  const ids = await begin(['web-1', 'web-2'])
  await finish(ids['web-1'] ?? '', 'vm-1')
  await db`update instance set frozen_by = null, facts = facts || '{"power_state": "off"}'`
  const pageOf = async (name: string) => {
    const [row] = await db<{ id: string }[]>`select id from instance where name = ${name}`
    return (await call('GET', `/instances/${row?.id}`)).text
  }
  const migrated = await pageOf('web-1')
  expect(migrated).toContain('It was migrated')
  expect(migrated).toContain('It was off when it was last read')
  expect(migrated).not.toContain('name="verb" value="start"')
  expect(migrated).not.toContain('>ready<')
  expect(await pageOf('web-2')).toContain('name="verb" value="start"')
})
