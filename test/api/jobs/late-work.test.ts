import { expect, test } from 'vitest'
import { openDb } from '../../../db/client.ts'
import { atEnd } from '../../support/cleanup.ts'
import { loginUrl } from '../../support/logins.ts'
import { addMachine } from '../../support/machines.ts'
import { createDatabase } from '../../support/postgres.ts'
import { clientOf, depsOver } from '../setup.ts'

const { db, url } = await createDatabase()

test('what was answered to be too late is not begun afterwards, and the same key is done once then', async () => {
  const one = openDb({ url: loginUrl(url, 'api'), max: 1, applicationName: 'drover-api-test' })
  atEnd(() => one.end({ timeout: 2 }))
  const call = clientOf(depsOver(one, { limits: { requestMs: 1_000 } }))
  const patient = clientOf(depsOver(one, { limits: { requestMs: 60_000 } }))
  const machine = await addMachine(db, { power: 'on' })
  const ask = (client: typeof call) =>
    client('POST', '/v1/operations', {
      json: { machine, kind: 'stop' },
      headers: { 'idempotency-key': 'the-same-wish' },
    })
  const made = async () => (await db`select id from operation where machine_id = ${machine}::uuid`).length
  // Who asks is let in before anything is late.
  for (const client of [call, patient]) expect((await client('GET', '/v1/operations')).status).toBe(200)
  // Who has the only connection keeps it until the answer has come.
  await one.begin(async () => {
    const late = await ask(call)
    expect([late.status, late.body.code]).toEqual([503, 'deadline-passed'])
  })
  // They stand behind the late one, step by step: when the last has its answer, that one has had its way or was dropped.
  for (let behind = 0; behind < 5; behind += 1) await patient('GET', '/v1/operations')
  expect(await made()).toBe(0)
  expect((await ask(patient)).status).toBe(202)
  expect(await made()).toBe(1)
})
