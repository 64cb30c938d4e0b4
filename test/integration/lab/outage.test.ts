import { expect, test } from 'vitest'
import { startLab } from '../../../src/lab/lab.ts'
import type { WireTask } from '../../../src/platforms/lab/protocol.ts'
import { atEnd } from '../../support/cleanup.ts'
import { startOwnPostgres } from '../../support/postgres.ts'
import { until } from '../../support/wait.ts'

const patient = { withinMs: 60_000 }

test('a lab whose Postgres dies says that nothing is known, and goes on by itself when it is back', async () => {
  const postgres = await startOwnPostgres()
  const lab = await startLab({
    databaseUrl: postgres.url,
    pace: 1_000,
    adminToken: 'admin token of the test',
  })
  atEnd(() => lab.stop())
  const ask = async (path: string, token: string, body?: unknown) => {
    const response = await fetch(`${lab.url}${path}`, {
      headers: { authorization: `Bearer ${token}`, 'idempotency-key': 'one stop' },
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    })
    return { status: response.status, json: (await response.json()) as never }
  }
  const login = await ask('/sites/vcenter/session', '', { username: 'drover', password: lab.password })
  const { token } = login.json as { token: string }
  const stop = () => ask('/sites/vcenter/instances/vm-101/power', token, { verb: 'stop' })
  const begun = (await stop()).json as WireTask
  await postgres.kill()
  await until(
    async () => {
      const { status, json } = await stop()
      return status === 503 && (json as { failure: string }).failure === 'unknown'
    },
    { what: 'the lab to say that it knows nothing', ...patient },
  )
  expect((await fetch(`${lab.url}/healthz`)).status).toBe(200)
  expect((await fetch(`${lab.url}/readyz`)).status).toBe(503)
  await postgres.start()
  await until(async () => (await stop()).status === 202, { what: 'the lab to be back', ...patient })
  expect(((await stop()).json as WireTask).id).toBe(begun.id)
  await ask('/lab/clock', lab.adminToken, { ms: 1_000_000 })
  expect((await ask(`/sites/vcenter/tasks/${begun.id}`, token)).json).toMatchObject({ state: 'succeeded' })
})
