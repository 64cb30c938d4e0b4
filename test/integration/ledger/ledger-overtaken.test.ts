import { expect, test } from 'vitest'
import { done } from '../../../src/ledger/job.ts'
import { movedOn } from '../../../src/operation/perform/enter-operation.ts'
import type { Logger } from '../../../src/process/log.ts'
import { quietLog } from '../../support/events.ts'
import { addOne, createWorker, stateOf } from '../../support/ledger.ts'
import { requestCancel } from '../../support/ledger-verbs.ts'
import { createDatabase } from '../../support/postgres.ts'

const { db } = await createDatabase()

/** A log that keeps what is said of trouble. */
const listening = () => {
  const said: string[] = []
  const log: Logger = Object.assign(Object.create(quietLog) as Logger, {
    child: () => log,
    warn: (_about: unknown, message: string) => said.push(`warn: ${message}`),
    error: (_about: unknown, message: string) => said.push(`error: ${message}`),
  })
  return { log, said }
}

/** A job of which the domain says at its end that it has no place there any more. */
const endRefused = async (thrown: Error, before: (id: string) => Promise<unknown>) => {
  const { log, said } = listening()
  const id = await addOne(db)
  const run = async () => {
    await before(id)
    return done({}, { change: () => Promise.reject(thrown) })
  }
  await createWorker(db, run, { log }).follow(id)
  return { said, state: await stateOf(db, id) }
}

test('work that gave way to something newer at its last moment ends canceled, and logs no trouble', async () => {
  const giveWay = (id: string) => requestCancel(db, id, { by: 'operation/newer', reason: 'superseded' })
  expect(await endRefused(movedOn('0198c0de-0000-7000-8000-000000000000'), giveWay)).toEqual({
    said: [],
    state: 'canceled',
  })
})

test('an outcome that cannot be written for a reason that nobody foresaw is an error in the log', async () => {
  const { said } = await endRefused(new Error('no such column'), () => Promise.resolve())
  expect(said).toContain('error: the outcome could not be written; the try counts as failed')
})
