import { expect, test } from 'vitest'
import { createDatabase } from '../../support/postgres.ts'
import { addSite } from '../inventory/inventory-rows.ts'
import { clientOf, depsOver } from '../setup.ts'
import { settingsOf } from './batch-rows.ts'

const { db } = await createDatabase()

test('a script that cannot be looked at in time is not the fault of the server: 503, and nothing is stored', async () => {
  await addSite(db, 'oslo', { role: 'target' })
  const hasty = clientOf(depsOver(db, { limits: { requestMs: 50 } }))
  const json = settingsOf({ config: { placement_scriptlet: 'function placement() {}' } })
  const reply = await hasty('POST', '/v1/batches', { json })
  expect([reply.status, reply.body.code]).toEqual([503, 'deadline-passed'])
  expect(reply.headers.get('retry-after')).toBe('2')
  expect(await db`select 1 from batch`).toHaveLength(0)
})
