import { v7 as uuidv7 } from 'uuid'
import { beforeEach, describe, expect, test } from 'vitest'
import { addMachine } from '../../support/machines.ts'
import { createDatabase } from '../../support/postgres.ts'
import { addSite, eventTypes } from '../inventory/inventory-rows.ts'
import { addFleet, emptyMigration, moveRow, restEntries, startBatch } from '../migration/batch-rows.ts'
import { type Body, clientOf, depsOver } from '../setup.ts'

const { db } = await createDatabase()
const deps = depsOver(db)
const call = clientOf(deps)

beforeEach(async () => {
  await emptyMigration(db)
  await db`truncate machine, operation, site, event`
})

const names = (body: Body): string[] => body.items.map(({ name }) => name)

const list = async (query = ''): Promise<string[]> => {
  const { status, body, text } = await call('GET', `/v1/machines${query}`)
  expect([status, text]).toEqual([200, expect.any(String)])
  return names(body)
}

const policy = (id: string, json: unknown, ifMatch: string | null = '*') =>
  call('PATCH', `/v1/machines/${id}`, {
    json,
    ...(ifMatch === null ? {} : { headers: { 'if-match': ifMatch } }),
  })

const addOperation = (machine: string, given: { kind: string; state: string; started?: boolean }) => db`
  insert into operation (id, machine_id, kind, state, reason, message, on_conflict, deadline_seconds, expires_at,
    created_by, started_at, settled_at)
  values (${uuidv7()}::uuid, ${machine}::uuid, ${given.kind}, ${given.state}, 'in-progress', '', 'queue', 60,
    now() + interval '1 hour', 'ada', ${given.started ? new Date() : null},
    ${given.state === 'completed' ? new Date() : null})`

describe('machines', () => {
  test('are shown with what is at them', async () => {
    const targetId = await addSite(db, 'oslo', { role: 'target' })
    const id = await addMachine(db, { name: 'web-1', targetId, ref: 'vm-7' })
    await addOperation(id, { kind: 'start', state: 'completed' })
    await addOperation(id, { kind: 'stop', state: 'running', started: true })
    await addOperation(id, { kind: 'start', state: 'queued' })
    await addOperation(id, { kind: 'stop', state: 'queued' })
    const { body, headers } = await call('GET', `/v1/machines/${id}`)
    expect(body).toMatchObject({
      ...{ id, target: 'oslo', ref: 'vm-7', name: 'web-1', project: 'default', host: 'node-1', power: 'on' },
      ...{ phase: 'stopping', hibernated: false, cpus: 1, memory: 2 ** 30, run_policy: 'manual', version: 1 },
      ...{
        origin: 'adopted',
        instance_id: null,
        entry_id: null,
        batch: null,
        in_migration: false,
        gone_at: null,
      },
      ...{ operation: { kind: 'stop', force: false, state: 'running' }, queued: 2, stopped_at: null },
    })
    expect(headers.get('etag')).toBe('"1"')
    expect((await call('GET', '/v1/machines')).body.items).toEqual([body])
  })

  test('come in pages that hold while others come', async () => {
    const targetId = await addSite(db, 'oslo', { role: 'target' })
    for (const name of ['a', 'b', 'c']) await addMachine(db, { name, targetId })
    const first = (await call('GET', '/v1/machines?limit=2')).body
    expect(names(first)).toEqual(['a', 'b'])
    await addMachine(db, { name: 'd', targetId })
    const second = (await call('GET', `/v1/machines?limit=2&cursor=${first.next_cursor}`)).body
    expect([names(second), second.next_cursor]).toEqual([['c', 'd'], null])
    const { status, body } = await call('GET', `/v1/machines?cursor=${first.next_cursor}x`)
    expect([status, body.code, body.field]).toEqual([422, 'cursor-invalid', 'cursor'])
  })

  test('are chosen by each of their sides, and by a filter', async () => {
    const targetId = await addSite(db, 'oslo', { role: 'target' })
    const bergen = await addSite(db, 'bergen', { role: 'target' })
    const off = await addMachine(db, { name: 'Web-off', targetId, power: 'off', runPolicy: 'always-on' })
    const saved = await addMachine(db, { name: 'web-saved', targetId, power: 'off', savedState: 's-1' })
    const busy = await addMachine(db, { name: 'db_busy', targetId, power: 'off' })
    await addMachine(db, { name: 'mail%', targetId: bergen })
    const gone = await addMachine(db, { name: 'gone', targetId })
    await addOperation(busy, { kind: 'start', state: 'running', started: true })
    await db`update machine set gone_at = now() where id = ${gone}::uuid`
    await db`update machine set host = 'node-2', project = 'shop', origin = 'migrated' where id = ${off}::uuid`
    await db`update machine set cpus = 8 where id = ${saved}::uuid`
    expect(await list()).toEqual(['Web-off', 'web-saved', 'db_busy', 'mail%'])
    expect(await list('?include_gone=true&name=gone')).toEqual(['gone'])
    expect(await list('?target=bergen')).toEqual(['mail%'])
    expect(await list('?host=node-2')).toEqual(['Web-off'])
    expect(await list('?project=shop')).toEqual(['Web-off'])
    expect(await list('?power=on')).toEqual(['mail%'])
    expect(await list('?run_policy=always-on')).toEqual(['Web-off'])
    expect(await list('?origin=migrated')).toEqual(['Web-off'])
    expect(await list('?name=WEB')).toEqual(['Web-off', 'web-saved'])
    expect(await list('?name=%25')).toEqual(['mail%'])
    expect(await list('?name=_')).toEqual(['db_busy'])
    expect(await list('?phase=stopped')).toEqual(['Web-off'])
    expect(await list('?phase=hibernated')).toEqual(['web-saved'])
    expect(await list('?phase=starting')).toEqual(['db_busy'])
    const filter = (text: string) => list(`?filter=${encodeURIComponent(text)}`)
    expect(await filter('cpus > 4 && hibernated')).toEqual(['web-saved'])
    expect(await filter('operation == "start" && target == "oslo"')).toEqual(['db_busy'])
    expect(await filter('phase in ["running", "stopped"] && !in_migration && queued == 0')).toEqual([
      'Web-off',
      'mail%',
    ])
    expect(await list(`?phase=stopped&filter=${encodeURIComponent('memory > 99999999999')}`)).toEqual([])
  })

  test('a filter that cannot be right is refused with the place', async () => {
    const { status, body } = await call(
      'GET',
      `/v1/machines?filter=${encodeURIComponent('phase == "stoped"')}`,
    )
    expect([status, body.code, body.field]).toEqual([422, 'filter-invalid', 'filter'])
    expect(body.remedy).toContain('Did you mean "stopped"?')
    const unknown = await call('GET', '/v1/machines?phase=asleep')
    expect([unknown.status, unknown.body.errors[0]?.field]).toEqual([422, 'phase'])
  })

  test('are named by their id, or by a name that only one has that is there', async () => {
    const targetId = await addSite(db, 'oslo', { role: 'target' })
    const one = await addMachine(db, { name: 'web 1/ü', targetId })
    const path = `/v1/machines/${encodeURIComponent('web 1/ü')}`
    expect((await call('GET', path)).body.id).toBe(one)
    const two = await addMachine(db, { name: 'web 1/ü', targetId })
    const { status, body } = await call('GET', path)
    expect([status, body.code, body.errors.map(({ message }) => message)]).toEqual([
      ...[409, 'machine-ambiguous'],
      [`${one} on oslo`, `${two} on oslo`],
    ])
    await db`update machine set gone_at = now() where id = ${one}::uuid`
    expect((await call('GET', path)).body.id).toBe(two)
    expect((await call('GET', `/v1/machines/${one}`)).body.gone_at).toEqual(expect.any(String))
    for (const absent of ['nobody', uuidv7()]) {
      const answer = await call('GET', `/v1/machines/${absent}`)
      expect([answer.status, answer.body.code]).toEqual([404, 'not-found'])
    }
  })

  test('say which migration has them', async () => {
    await addFleet(db, ['web-1'])
    await startBatch(db, call)
    await restEntries(db)
    const [entry] = (await call('GET', '/v1/queue')).body.items
    const [oslo] = await db<{ id: string }[]>`select id from site where name = 'oslo'`
    const id = await addMachine(db, { name: 'web-1', targetId: oslo?.id ?? '', ref: 'vm-7' })
    await db`update entry set target_id = ${oslo?.id ?? ''}::uuid, machine_ref = 'vm-7'`
    const shown = async () => (await call('GET', `/v1/machines/${id}`)).body
    expect(await shown()).toMatchObject({ entry_id: entry?.id, batch: 'wave-1', in_migration: true })
    expect(await list(`?filter=${encodeURIComponent('in_migration && batch == "wave-1"')}`)).toEqual([
      'web-1',
    ])
    await moveRow(db, String(entry?.id), { state: 'finished', stage: 'complete' })
    expect(await shown()).toMatchObject({ entry_id: entry?.id, batch: 'wave-1', in_migration: false })
  })
})

test('a start that a blocked migration of the same UUID stands in the way of says why, and what to do', async () => {
  const { 'web-1': instance = '' } = await addFleet(db, ['web-1'])
  await startBatch(db, call)
  await restEntries(db)
  const [entry] = (await call('GET', '/v1/queue')).body.items
  await moveRow(db, String(entry?.id), { state: 'blocked' })
  const targetId = await addSite(db, 'bergen', { role: 'target' })
  const machine = await addMachine(db, { name: 'other', targetId, ref: 'vm-9', power: 'off' })
  await db`
    update machine set uuid = (select uuid from instance where id = ${instance}::uuid) where id = ${machine}::uuid`
  const start = () => call('POST', '/v1/operations', { json: { machine, kind: 'start' } })
  const refused = await start()
  expect(refused.status).toBe(409)
  expect(refused.body.detail).toContain('of paris has the same UUID, so it counts as the same VM')
  expect(refused.body.detail).toContain(`batch wave-1 (entry ${entry?.id}, blocked until its cause is gone)`)
  expect(refused.body.remedy).toContain('give one of them a UUID of its own')
  await call('POST', `/v1/queue/${entry?.id}/:cancel`, { json: {} })
  expect((await start()).status).toBe(202)
})

describe("a machine's run policy", () => {
  test('is changed by whoever has seen the last change', async () => {
    const targetId = await addSite(db, 'oslo', { role: 'target' })
    const id = await addMachine(db, { name: 'web-1', targetId })
    await db`update machine set policy_failures = 4, policy_next_at = now() + interval '1 hour' where id = ${id}::uuid`
    const { status, body, headers } = await policy(id, { run_policy: 'always-on' }, '"1"')
    expect([status, body.run_policy, body.version, headers.get('etag')]).toEqual([200, 'always-on', 2, '"2"'])
    expect((await policy(id, { run_policy: 'manual' }, '"1"')).body.code).toBe('version-mismatch')
    expect((await policy(id, { run_policy: 'manual' }, null)).body.code).toBe('if-match-required')
    expect((await policy('web-1', { run_policy: 'always-on' })).body.version).toBe(2)
    expect(await eventTypes(db)).toEqual(['machine.run-policy-changed'])
    const [event] = await db`select subject_id, actor, from_state, to_state from event`
    expect(event).toMatchObject({ subjectId: id, fromState: 'manual', toState: 'always-on' })
    const [row] = await db`select policy_failures, policy_next_at <= now() as due from machine`
    expect(row).toEqual({ policyFailures: 0, due: true })
  })

  test('two who change it at once do not both win', async () => {
    const targetId = await addSite(db, 'oslo', { role: 'target' })
    const id = await addMachine(db, { targetId })
    const answers = await Promise.all(
      ['always-on', 'always-off'].map((run_policy) => policy(id, { run_policy }, '"1"')),
    )
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 412])
  })

  test('is one of four, of a machine that is there, and not for everybody to change', async () => {
    const targetId = await addSite(db, 'oslo', { role: 'target' })
    const id = await addMachine(db, { targetId })
    const wrong = await policy(id, { run_policy: 'sometimes', name: 'x' })
    expect([wrong.status, wrong.body.errors.map(({ field }) => field).toSorted()]).toEqual([
      422,
      expect.arrayContaining(['run_policy']),
    ])
    await db`update machine set gone_at = now()`
    const gone = await policy(id, { run_policy: 'manual' })
    expect([gone.status, gone.body.code, gone.body.remedy]).toEqual([
      ...[409, 'machine-gone'],
      expect.stringContaining('Sync the target'),
    ])
    expect((await policy(uuidv7(), { run_policy: 'manual' })).status).toBe(404)
    expect(await eventTypes(db)).toEqual([])
  })
})

describe('a target that is removed', () => {
  const remove = () => call('DELETE', '/v1/targets/oslo', { headers: { 'if-match': '*' } })

  test('takes its machines along, with what was asked of them', async () => {
    const targetId = await addSite(db, 'oslo', { role: 'target' })
    const other = await addMachine(db, {
      name: 'other',
      targetId: await addSite(db, 'bergen', { role: 'target' }),
    })
    const id = await addMachine(db, { targetId })
    await addOperation(id, { kind: 'start', state: 'completed' })
    await addOperation(other, { kind: 'start', state: 'completed' })
    expect((await remove()).status).toBe(204)
    expect(await list()).toEqual(['other'])
    expect(await db`select machine_id from operation`).toEqual([{ machineId: other }])
  })

  test.each(['queued', 'pending', 'running'])('stays while an operation is %s', async (state) => {
    const targetId = await addSite(db, 'oslo', { role: 'target' })
    const id = await addMachine(db, { name: 'web-1', targetId })
    await addOperation(id, { kind: 'stop', state })
    const { status, body } = await remove()
    expect([status, body.code]).toEqual([409, 'site-in-use'])
    expect(body.detail).toContain(`1 operation on its machines has not ended: stop of web-1 (${state}).`)
    expect(await list()).toEqual(['web-1'])
  })
})
