import { expect } from 'vitest'
import type { Db } from '../../db/client.ts'
import { findOperation } from '../../db/queries/operations/operation-rows.ts'
import type { Client, Reply } from '../api/setup.ts'
import { addMachine } from './machines.ts'

/** Everything that makes sense on a machine that runs, so that it is the others alone who refuse. */
const wishes = [
  { kind: 'stop' },
  { kind: 'stop', force: true },
  { kind: 'restart' },
  { kind: 'restart', force: true },
  { kind: 'migrate' },
  { kind: 'evict', force: true },
  { kind: 'hibernate' },
  { kind: 'snapshot' },
  { kind: 'restore', params: { snapshot: 'before' } },
  { kind: 'clone', params: { name: 'copy' } },
]

/**
 * Two hundred ask something of one machine at once. Exactly one operation is at it afterwards; every other request
 * has a definite outcome and names who won, at once or over those who were superseded in turn.
 */
export const storm = async (db: Db, call: Client, round: number): Promise<Reply[]> => {
  const machine = await addMachine(db, { power: 'on' })
  const replies = await Promise.all(
    Array.from({ length: 200 }, (_, at) => {
      const wish = wishes[(at * 7 + round) % wishes.length]
      return call('POST', '/v1/operations', { json: { machine, ...wish } })
    }),
  )
  const active = await db<{ id: string }[]>`
    select id from operation where machine_id = ${machine}::uuid and state in ('pending', 'running')`
  expect(active).toHaveLength(1)
  const winner = active[0]?.id
  const finalOf = async (id: unknown): Promise<string | undefined> => {
    let now = await findOperation(db, String(id))
    while (now?.supersededBy) now = await findOperation(db, now.supersededBy)
    return now?.id
  }
  for (const { status, body, text } of replies) {
    const [code, id] = status === 202 ? [undefined, body.id] : [body.code, body.blocker]
    expect([status, code], text).toEqual(status === 202 ? [202, undefined] : [409, 'blocked'])
    expect(await finalOf(id)).toBe(winner)
  }
  const made = replies.filter(({ status }) => status === 202)
  const [stored] = await db`select count(*)::int as n from operation where machine_id = ${machine}::uuid`
  // Nobody was told of an operation that is not there, and none is there that nobody was told of.
  expect(stored?.n).toBe(made.length)
  return replies
}
