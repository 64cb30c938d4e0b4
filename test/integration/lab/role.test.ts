import { expect, test } from 'vitest'
import type { WireTask } from '../../../src/platforms/lab/protocol.ts'
import { createDatabase } from '../../support/postgres.ts'
import { startRole } from '../../support/processes.ts'
import { freePort } from '../../support/temp.ts'

const password = 'the password of the test'

test('a lab that is killed in the middle of its work goes on with it when it starts anew', async () => {
  const database = await createDatabase()
  const port = await freePort()
  const env = {
    DATABASE_URL: database.url,
    DROVER_LAB_PORT: String(port),
    DROVER_LAB_PASSWORD: password,
    DROVER_LAB_ADMIN_TOKEN: 'the admin token of the test',
  }
  const start = async () => {
    const lab = await startRole('lab', env)
    await lab.line('lab runs', { withinMs: 60_000 })
    return lab
  }
  const url = `http://127.0.0.1:${port}`
  const ask = async (path: string, token: string, body?: unknown) => {
    const response = await fetch(`${url}${path}`, {
      headers: { authorization: `Bearer ${token}`, 'idempotency-key': 'the stop' },
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    })
    return (await response.json()) as never
  }
  const first = await start()
  expect((await fetch(`${url}/readyz`)).status).toBe(200)
  const { token } = (await ask('/sites/vcenter/session', '', { username: 'drover', password })) as {
    token: string
  }
  const stop = () =>
    ask('/sites/vcenter/instances/vm-101/power', token, { verb: 'stop' }) as Promise<WireTask>
  const begun = await stop()
  await first.crash()
  const second = await start()
  expect((await stop()).id).toBe(begun.id)
  await ask('/lab/clock', env.DROVER_LAB_ADMIN_TOKEN, { ms: 60_000 })
  expect(await ask(`/sites/vcenter/tasks/${begun.id}`, token)).toMatchObject({ state: 'succeeded' })
  expect(await ask('/sites/vcenter/instances/vm-101/power', token)).toMatchObject({ state: 'off' })
  expect(second.output).not.toContain(password)
  expect(await second.stop()).toMatchObject({ code: 0 })
})
