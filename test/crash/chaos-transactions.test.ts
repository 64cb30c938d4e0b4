import { expect, test } from 'vitest'
import { type Db, isDbAway, openDb } from '../../db/client.ts'
import { atEnd } from '../support/cleanup.ts'
import { createDatabase } from '../support/postgres.ts'
import { startProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { settles, until } from '../support/wait.ts'

const database = await createDatabase()

/** One connection, so that a broken one has nobody to hide behind. */
const overProxy = async (): Promise<{ db: Db; proxy: TcpProxy }> => {
  const url = new URL(database.url)
  const proxy = await startProxy({ targetPort: Number(url.port) })
  url.hostname = '127.0.0.1'
  url.port = String(proxy.port)
  const db = openDb({ url: url.href, max: 1, applicationName: 'drover-test-lost', connectMs: 2_000 })
  atEnd(() => db.end({ timeout: 2 }))
  return { db, proxy }
}

/** Answers as soon as a connection was made again; a connection that can send nothing never would. */
const works = (db: Db): Promise<unknown> =>
  until(async () => (await db`select 1 as one`).length === 1, { what: 'an answer' })

const outcomeOf = (work: Promise<unknown>): Promise<unknown> =>
  settles(
    work.then(
      () => 'done',
      (error: unknown) => error,
    ),
    { what: 'the transaction to end' },
  )

/** An error outside every promise would end the process; vitest fails the run when it sees one. */
const breaks: readonly [string, (parts: { db: Db; proxy: TcpProxy; pid: number }) => Promise<unknown>][] = [
  ['by a reset', async ({ proxy }) => proxy.drop()],
  ['by the server', ({ pid }) => database.db`select pg_terminate_backend(${pid})`],
]

for (const [how, lose] of breaks) {
  test(`a connection that is lost ${how} during a statement of a transaction fails it, and nothing else`, async () => {
    const { db, proxy } = await overProxy()
    for (let round = 0; round < 4; round += 1) {
      const work = db.begin(async (tx) => {
        const [self] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`
        const slow = tx`select pg_sleep(20)`
        await Promise.all([slow, lose({ db, proxy, pid: self?.pid ?? 0 })])
      })
      expect(isDbAway(await outcomeOf(work))).toBe(true)
      await works(db)
    }
  })

  test(`a connection that is lost ${how} between two statements of a transaction fails the next one`, async () => {
    const { db, proxy } = await overProxy()
    for (let round = 0; round < 4; round += 1) {
      const work = db.begin(async (tx) => {
        const [self] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`
        await lose({ db, proxy, pid: self?.pid ?? 0 })
        await until(() => gone(self?.pid ?? 0), { what: 'the session to be gone' })
        await tx`select 1`
      })
      expect(isDbAway(await outcomeOf(work))).toBe(true)
      await works(db)
    }
  })

  test(`a connection that is lost ${how} while its transaction fails by itself harms nobody`, async () => {
    const { db, proxy } = await overProxy()
    for (let round = 0; round < 4; round += 1) {
      const work = db.begin(async (tx) => {
        const [self] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`
        await lose({ db, proxy, pid: self?.pid ?? 0 })
        await until(() => gone(self?.pid ?? 0), { what: 'the session to be gone' })
        throw new Error('something else went wrong')
      })
      expect(await outcomeOf(work)).toBeInstanceOf(Error)
      await works(db)
    }
  })
}

test('connections that are lost at any moment of many small statements leave a pool that works', async () => {
  const { db, proxy } = await overProxy()
  for (let round = 0; round < 20; round += 1) {
    const burst = Array.from({ length: 20 }, (_, at) =>
      at % 3 === 0 ? db.begin((tx) => tx`select ${at}::int`) : db`select ${at}::int`,
    )
    await Promise.race(burst.slice(0, 1 + round))
      .catch(() => undefined)
      .then(() => proxy.drop())
    await settles(Promise.allSettled(burst), { what: 'every statement to end one way or the other' })
    await works(db)
  }
})

const gone = async (pid: number): Promise<boolean> =>
  (await database.db`select 1 from pg_stat_activity where pid = ${pid}`).length === 0
