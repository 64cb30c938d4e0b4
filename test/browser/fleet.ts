import { createSealer } from '../../src/seal/seal.ts'
import { enterKey } from '../../src/sealing/key-check.ts'
import { createDatabase, type TestDatabase } from '../support/postgres.ts'
import { startRole, type TestProcess } from '../support/processes.ts'

export interface Fleet {
  readonly url: string
  readonly adminToken: string
  readonly database: TestDatabase
  readonly worker: TestProcess
  startWorker(): Promise<TestProcess>
  /** Asks the API as admin; gives the JSON of the answer. */
  ask<Answer>(method: string, path: string, body?: unknown): Promise<Answer>
}

const startMs = 120_000
const adminToken = 'browser-test-admin-token'

/** One of each role, as real processes over a database of their own. Ended when the file ends. */
export const startFleet = async (): Promise<Fleet> => {
  const database = await createDatabase()
  const secretKey = '5e'.repeat(32)
  // As `migrate` with this key does: what tests seal with another one is then no reason to end.
  await enterKey(database.db, createSealer(secretKey))
  const env = {
    DATABASE_URL: database.url,
    DROVER_SECRET_KEY: secretKey,
    DROVER_ADMIN_TOKEN: adminToken,
    DROVER_CONCURRENCY: 'self-test=4',
    DROVER_LOG_LEVEL: 'info',
  }
  const startWorker = async () => {
    const worker = await startRole('worker', env)
    await worker.line(/worker runs/, { withinMs: startMs })
    return worker
  }
  const api = await startRole('api', env)
  const [, port = ''] = await api.line(/"port":(\d+).*api runs/, { withinMs: startMs })
  const url = `http://127.0.0.1:${port}`
  const conductor = await startRole('conductor', env)
  const worker = await startWorker()
  await conductor.line(/conductor runs/, { withinMs: startMs })
  const ask = async <Answer>(method: string, path: string, body?: unknown): Promise<Answer> => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (!response.ok)
      throw new Error(`${method} ${path} answered ${response.status}: ${await response.text()}`)
    return (await response.json()) as Answer
  }
  return { url, adminToken, database, worker, startWorker, ask }
}

export interface AddedJob {
  readonly id: string
}

/** A self-test job in the default lane. */
export const addJob = (
  fleet: Fleet,
  payload: Record<string, unknown>,
  more: object = {},
): Promise<AddedJob> =>
  fleet.ask('POST', '/v1/jobs', {
    kind: 'self-test',
    payload,
    subject: { type: 'self-test', id: 'by-hand' },
    ...more,
  })
