import { v7 as uuidv7 } from 'uuid'
import { beforeEach, expect, test } from 'vitest'
import { createConsole } from '../../../src/console/console.ts'
import { addOne } from '../../support/ledger.ts'
import { addMachine } from '../../support/machines.ts'
import { createDatabase } from '../../support/postgres.ts'
import { addInstance, addSite } from '../inventory/inventory-rows.ts'
import { addFleet, emptyMigration, named, restEntries, startBatch } from '../migration/batch-rows.ts'
import { clientOf, depsOver } from '../setup.ts'

const { db } = await createDatabase()
const deps = depsOver(db)
const call = clientOf({ ...deps, console: createConsole(deps) })

beforeEach(async () => {
  await emptyMigration(db)
  await db`truncate machine, operation`
})

/** A job of this kind that used up its tries. */
const failed = async (
  kind: string,
  subject: { type: string; id: string },
  payload: object,
): Promise<string> => {
  const id = await addOne(db)
  await db`
    update job set kind = ${kind}, subject_type = ${subject.type}, subject_id = ${subject.id}, state = 'failed',
      finished_at = now(), payload = ${JSON.stringify(payload)}::text::jsonb where id = ${id}::uuid`
  return id
}

const refusalsOf = async (id: string) => {
  const [listed, shown] = await Promise.all([
    call('GET', '/v1/jobs?state=failed'),
    call('GET', `/v1/jobs/${id}`),
  ])
  const one = listed.body.items.find((job) => job.id === id)
  expect(one?.retry_refusal).toEqual(shown.body.retry_refusal)
  return shown.body.retry_refusal as unknown as { code: string; message: string; remedy: string } | null
}

const cases = {
  'entry-moved-on': async () => {
    await addFleet(db, ['web-1'])
    await startBatch(db, call, { include_expression: 'true' })
    await restEntries(db)
    const [entry] = (await call('GET', '/v1/queue')).body.items
    const id = await failed('import-instance', { type: 'entry', id: String(entry?.id) }, {})
    return { id, mend: () => db`update entry set job_id = ${id}::uuid` }
  },
  'site-absent': async () => {
    const id = await failed('sync-source', { type: 'source', id: 'paris' }, {})
    return { id, mend: () => addSite(db, 'paris') }
  },
  'instance-absent': async () => {
    const instance = await addInstance(db, await addSite(db, 'paris'), { facts: named('web-1') })
    await db`update instance set gone_at = now()`
    const id = await failed('power-instance', { type: 'instance', id: instance }, { instance, verb: 'start' })
    return { id, mend: () => db`update instance set gone_at = null` }
  },
  'job-in-debt': async () => {
    const id = await failed('self-test', { type: 'self-test', id: 'one' }, {})
    await db`insert into effect (id, job_id, subject_type, subject_id, epoch, kind, platform, name, state)
      values (${uuidv7()}::uuid, ${id}::uuid, 'self-test', 'one', 1, 'file', 'memory', 'a', 'debt')`
    return { id, mend: () => db`update effect set state = 'undone'` }
  },
}

test.each(Object.entries(cases))(
  'a failed job that could only fail again (%s) is not offered to be retried, and it is said why',
  async (code, make) => {
    const { id, mend } = await make()
    const refusal = await refusalsOf(id)
    expect(refusal?.code).toBe(code)
    for (const path of ['/failed', `/jobs/${id}`]) {
      const { text } = await call('GET', path)
      expect(text).toContain(refusal?.message)
      expect(text).not.toContain(`action="/jobs/${id}/retry"`)
    }
    const refused = await call('POST', `/v1/jobs/${id}/:retry`)
    expect([refused.status, refused.body.detail]).toEqual([409, refusal?.message])
    expect((await call('GET', `/v1/jobs/${id}`)).body.state).toBe('failed')
    await mend()
    expect(await refusalsOf(id)).toBeNull()
    expect((await call('GET', '/failed')).text).toContain(`action="/jobs/${id}/retry"`)
    expect((await call('POST', `/v1/jobs/${id}/:retry`)).status).toBe(202)
  },
)

test('what to do instead of a retry is nothing that the entry would refuse', async () => {
  const { id } = await cases['entry-moved-on']()
  await db`update entry set state = 'conflict'`
  const [entry] = (await call('GET', '/v1/queue')).body.items
  expect((await call('POST', `/v1/queue/${entry?.id}/:retry`, { json: {} })).status).toBe(409)
  expect((await refusalsOf(id))?.remedy).not.toMatch(/\btry\b/i)
})

test('the failed job of an operation that has ended is not offered to be retried', async () => {
  const targetId = await addSite(db, 'oslo', { role: 'target' })
  const machine = await addMachine(db, { targetId })
  const asked = await call('POST', '/v1/operations', { json: { machine, kind: 'stop' } })
  const job = String(asked.body.job_id)
  await db`update operation set state = 'failed', finished_at = now()`
  await db`update job set state = 'failed', finished_at = now() where id = ${job}::uuid`
  expect((await refusalsOf(job))?.code).toBe('operation-ended')
  expect((await call('GET', '/failed')).text).not.toContain(`action="/jobs/${job}/retry"`)
})
