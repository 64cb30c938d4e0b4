import { expect, test } from 'vitest'
import type { OperationRow } from '../../../db/schema/operation.ts'
import { adminEnv, asAdmin } from '../../support/admin-token.ts'
import { createLab } from '../../support/lab.ts'
import { createOperatedWorld } from '../../support/operated-world.ts'
import { checkOperations } from '../../support/operation-invariants.ts'
import { createDatabase } from '../../support/postgres.ts'
import { startRole } from '../../support/processes.ts'
import { settles } from '../../support/wait.ts'

const { db, url } = await createDatabase()
const lab = await createLab({ world: 'large', machines: 4 })
const secret = { ...adminEnv, DATABASE_URL: url, DROVER_SECRET_KEY: '5e'.repeat(32) }

const startApi = async (plan?: string) => {
  const api = await startRole('api', { ...secret, ...(plan ? { DROVER_CRASH_POINTS: plan } : {}) })
  const [, port] = await api.line(/"port":(\d+).*api runs/, { withinMs: 120_000 })
  return { api, url: `http://127.0.0.1:${port}/v1/operations` }
}

/** Nobody works here: what the admission leaves is what there is. */
// promise: dead-api
test('an API that dies while it admits has admitted nothing, and the same request is admitted once later', async () => {
  const world = await createOperatedWorld(db, lab)
  const [machine] = world.machines
  if (!machine) throw new Error('There is no machine.')
  const [given, asked, whole] = await Promise.all([
    startApi('kill:operation-gives-way'),
    startApi('kill:operation-asked'),
    startApi(),
  ])
  const older = await world.mustAsk(machine, { kind: 'restart' })
  const post = (at: string) =>
    fetch(at, {
      method: 'POST',
      headers: { ...asAdmin, 'content-type': 'application/json', 'idempotency-key': 'the-same-wish' },
      body: JSON.stringify({ machine: machine.id, kind: 'stop', force: true }),
    })
  const everything = () => db`
    select o.id, o.state, o.superseded_by, j.state as job, j.cancel_requested_at from operation o
    left join job j on j.id = o.job_id order by o.id`
  const before = await everything()
  for (const { api, url: at } of [given, asked]) {
    await expect(post(at)).rejects.toThrow()
    const { signal } = await settles(api.exited, { what: 'the API to be gone', withinMs: 60_000 })
    expect(signal).toBe('SIGKILL')
    expect(await everything()).toEqual(before)
  }
  const answers = await Promise.all([post(whole.url), post(whole.url)])
  const made = (await Promise.all(answers.map((answer) => answer.json()))) as { id: string; state: string }[]
  expect(answers.map(({ status }) => status)).toContain(202)
  const operations = await db<OperationRow[]>`select * from operation order by id`
  expect(operations).toHaveLength(2)
  expect(operations[0]).toMatchObject({ id: older.id, state: 'superseded', supersededBy: operations[1]?.id })
  expect(operations[1]).toMatchObject({ kind: 'stop', force: true, state: 'pending' })
  expect(made.some(({ id }) => id === operations[1]?.id)).toBe(true)
  expect(await checkOperations(db)).toEqual([])
})
