import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { openDb } from '../../../db/client.ts'
import { createDatabase } from '../../support/postgres.ts'

/** Greets as Postgres does without a password, then cuts the connection at the first thing it is asked. */
const greeting = Buffer.concat([
  Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0]),
  Buffer.from([0x5a, 0, 0, 0, 5, 0x49]),
])

test('a Postgres that is lost while a connection opens fails the query, and nothing else', async () => {
  const unhandled: unknown[] = []
  const note = (error: unknown) => unhandled.push(error)
  process.on('unhandledRejection', note)
  onTestFinished(() => void process.off('unhandledRejection', note))
  let greeted = 0
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => {
      greeted += 1
      socket.write(greeting)
      socket.once('data', () => socket.destroy())
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address() as { port: number }
  const db = openDb({
    url: `postgres://somebody@127.0.0.1:${address.port}/none`,
    max: 1,
    applicationName: 'test',
  })
  onTestFinished(async () => {
    await db.end({ timeout: 0 })
    server.close()
  })
  await expect(db`select 1`).rejects.toThrow()
  await new Promise((resolve) => setImmediate(resolve))
  expect(greeted).toBe(1)
  expect(unhandled).toEqual([])
})

test('arrays come and go as they are, with quotes, blanks, nulls and nothing in them', async () => {
  const { db } = await createDatabase()
  const texts = [
    'plain',
    'a "quoted" one',
    'back\\slash',
    'comma, {brace}',
    '',
    'NULL',
    'ünï',
    ' blank ',
    null,
  ]
  const id = '0190a1b2-0000-7000-8000-000000000001'
  const at = new Date('2026-01-02T03:04:05.678Z')
  const [row] = await db`
    select ${texts}::text[] as texts, ${[]}::text[] as none, ${[1, -2]}::int[] as ints, ${[3, 4]}::smallint[] as smalls,
      ${[9_007_199_254_740_991]}::bigint[] as bigs, ${[id]}::uuid[] as ids, array[${at}::timestamptz] as moments,
      ${[0.5, -1e300]}::float8[] as floats, array[true, false] as flags,
      array(select unnest(${['b', 'a']}::text[]) order by 1) as sorted`
  expect(row).toEqual({
    texts,
    none: [],
    ints: [1, -2],
    smalls: [3, 4],
    bigs: [9_007_199_254_740_991],
    ids: [id],
    moments: [at],
    floats: [0.5, -1e300],
    flags: [true, false],
    sorted: ['a', 'b'],
  })
})
