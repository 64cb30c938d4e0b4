import { expect, test } from 'vitest'
import { PostgresBell } from '../../../src/ledger/bell/bell-postgres.ts'
import { createLog } from '../../../src/process/log.ts'
import { dropBellSchema } from '../../support/bells.ts'
import { atEnd } from '../../support/cleanup.ts'
import { loginUrl } from '../../support/logins.ts'
import { createDatabase } from '../../support/postgres.ts'
import { migrateAsOwner } from '../../support/shared-postgres.ts'
import { until } from '../../support/wait.ts'

const { db, url } = await createDatabase()

const as = (who: 'api' | 'conductor' | 'worker'): PostgresBell => {
  const bell = new PostgresBell({
    url: loginUrl(url, who),
    log: createLog({ role: who, level: 'debug' }),
  })
  atEnd(() => bell.close())
  return bell
}
const ring = { id: crypto.randomUUID(), kind: 'self-test', generation: 1, publish: 1, urgent: false }

test('the conductor rings, the API sees it, and the worker hears it, each under its own login', async () => {
  const [conductor, worker, api] = [as('conductor'), as('worker'), as('api')]
  for (const bell of [conductor, worker, api]) await bell.prepare()
  await conductor.ring([ring])
  const [queue] = api.queues().filter(({ name }) => name === 'self-test')
  expect(await queue?.getJobCounts('waiting')).toEqual({ waiting: 1 })
  const heard: string[] = []
  const listener = await worker.listen('self-test', 1, async ({ id }) => void heard.push(id))
  await until(() => heard.length > 0, { what: 'the bell to be heard' })
  expect(heard).toEqual([ring.id])
  await listener.close()
})

test('a store that is gone is a matter for the owner: a role says so, and goes on when it is made again', async () => {
  const conductor = as('conductor')
  await dropBellSchema(db)
  await expect(conductor.prepare()).rejects.toMatchObject({ code: 'bell-store-missing', class: 'config' })
  await expect(conductor.identity()).rejects.toMatchObject({ code: 'bell-store-missing' })
  await migrateAsOwner(url)
  await conductor.prepare()
  await conductor.ring([{ ...ring, publish: 2 }])
  expect((await conductor.pending('self-test')).size).toBe(1)
})
