import { v7 as uuidv7 } from 'uuid'
import { expect, test } from 'vitest'
import type { Client, Reply } from '../../api/setup.ts'
import { adminEnv, asAdmin } from '../../support/admin-token.ts'
import { checkOperations } from '../../support/operation-invariants.ts'
import { storm } from '../../support/operation-storm.ts'
import { createDatabase } from '../../support/postgres.ts'
import { startRole } from '../../support/processes.ts'
import { until } from '../../support/wait.ts'

const { db, url } = await createDatabase()

const rounds = 2

/** What is no answer yet: the same request is sent again, with the same key, when it says. */
const isLater = ({ status, body }: Reply): boolean =>
  status === 429 || status === 503 || (status === 409 && body.code === 'idempotency-in-flight')

/** A person who asks over HTTP until there is an answer; what came before that is counted. */
const personAt =
  (api: string, later: Map<string, number>): Client =>
  async (method, path, ask = {}) => {
    const key = uuidv7()
    const once = async (): Promise<Reply> => {
      const response = await fetch(`${api}${path}`, {
        method,
        headers: { ...asAdmin, 'content-type': 'application/json', 'idempotency-key': key },
        body: JSON.stringify(ask.json),
      })
      const text = await response.text()
      return { status: response.status, headers: response.headers, text, body: JSON.parse(text) }
    }
    let reply = await once()
    while (isLater(reply)) {
      const why = `${reply.status} ${reply.body.code}`
      later.set(why, (later.get(why) ?? 0) + 1)
      expect(Number(reply.headers.get('retry-after')), reply.text).toBeGreaterThan(0)
      const again = performance.now() + Number(reply.headers.get('retry-after')) * 1_000
      await until(() => performance.now() > again, { what: 'the time to ask again', withinMs: 60_000 })
      reply = await once()
    }
    return reply
  }

// promise: one-at-a-machine
test('of two hundred who ask an API of the usual limits at once one has the machine, and each has an answer', async () => {
  const api = await startRole('api', { ...adminEnv, DATABASE_URL: url, DROVER_SECRET_KEY: '5e'.repeat(32) })
  const [, port] = await api.line(/"port":(\d+).*api runs/, { withinMs: 120_000 })
  for (let round = 0; round < rounds; round += 1) {
    const later = new Map<string, number>()
    const began = performance.now()
    // It looks at every answer itself.
    const replies = await storm(db, personAt(`http://127.0.0.1:${port}`, later), round)
    const asked = [...later].map(([why, times]) => `${times} of ${why}`).join(', ') || 'none'
    const tookMs = Math.round(performance.now() - began)
    console.info(`round ${round}: ${replies.length} answers in ${tookMs} ms, asked again: ${asked}`)
  }
  expect(await checkOperations(db)).toEqual([])
  expect(api.running).toBe(true)
})
