import { describe, expect, test } from 'vitest'
import type { Db } from '../../../db/client.ts'
import { sealEvents } from '../../../src/ledger/seals/seal-events.ts'
import { verifySeals } from '../../../src/ledger/seals/verify-seals.ts'
import { createSealer } from '../../../src/seal/seal.ts'
import { sealAll, testSealer as sealer, writeEvents } from '../../support/events.ts'
import { createDatabase, reserveConnection } from '../../support/postgres.ts'

/** Twelve transactions of one event each, in three seals. */
const sealed = async (): Promise<Db> => {
  const { db } = await createDatabase()
  for (let at = 0; at < 12; at += 1) await writeEvents(db, [{ reason: String(at) }])
  await sealAll(db)
  return db
}

describe('sealing', () => {
  // promise: sealed-events
  test('covers every event once, in ranges that meet', async () => {
    const db = await sealed()
    expect(await verifySeals(db, sealer)).toMatchObject({ ok: true, seals: 3, events: 12, pruned: 0 })
    await writeEvents(db, [{ reason: 'later' }])
    await sealAll(db)
    expect(await verifySeals(db, sealer)).toMatchObject({ ok: true, seals: 4, events: 13 })
    expect(await verifySeals(db, sealer, { from: 3 })).toMatchObject({ ok: true, seals: 2, events: 5 })
  })

  test('leaves out what may still get company, and seals it later', async () => {
    const { db } = await createDatabase()
    const open = await reserveConnection(db)
    try {
      await open`begin`
      await writeEvents(open, [{ reason: 'open' }])
      await writeEvents(db, [{ reason: 'committed' }])
      expect(await sealEvents({ db, sealer })).toBe('nothing')
      await open`commit`
    } finally {
      open.release()
    }
    await sealAll(db)
    expect(await verifySeals(db, sealer)).toMatchObject({ ok: true, events: 2 })
  })

  test('never splits a transaction', async () => {
    const { db } = await createDatabase()
    await writeEvents(db, [{ reason: 'small' }])
    await writeEvents(
      db,
      Array.from({ length: 30 }, (_, at) => ({ reason: String(at) })),
    )
    await writeEvents(db, [{ reason: 'small' }])
    await sealAll(db)
    const seals = await db`select events from event_seal order by seq`
    expect(seals.map((seal) => seal.events)).toEqual([1, 30, 1])
    expect(await verifySeals(db, sealer)).toMatchObject({ ok: true, events: 32 })
  })

  test('takes transactions in the order of their numbers, not of their digits', async () => {
    const { db } = await createDatabase()
    for (const xid of ['9', '10', '11'])
      await db`insert into event (xid, type, subject_type, subject_id, actor)
        values (${xid}::xid8, 'thing.changed', 'thing', 'one', 'test')`
    await sealAll(db, { eventsMax: 1 })
    const seals = await db`select events, to_xid::text as to_xid from event_seal order by seq`
    expect(seals.map((seal) => seal.events)).toEqual([1, 1, 1])
    expect(seals.slice(0, 2).map((seal) => seal.toXid)).toEqual(['10', '11'])
    expect(await verifySeals(db, sealer)).toMatchObject({ ok: true, events: 3 })
  })

  test('hashes a transaction of many pages', async () => {
    const { db } = await createDatabase()
    const many = Array.from({ length: 2_500 }, (_, at) => ({ reason: String(at) }))
    await writeEvents(db, many)
    await sealAll(db)
    expect(await verifySeals(db, sealer)).toMatchObject({ ok: true, seals: 1, events: 2_500 })
    await db`update event set reason = 'forged' where reason = '2001'`
    expect(await verifySeals(db, sealer)).toMatchObject({ ok: false, firstBroken: { seq: 1 } })
  })

  test('two sealers at once make one chain', async () => {
    const { db } = await createDatabase()
    for (let at = 0; at < 40; at += 1) await writeEvents(db, [{ reason: String(at) }])
    await Promise.all([3, 3, 5].map((eventsMax) => sealAll(db, { eventsMax })))
    expect(await verifySeals(db, sealer)).toMatchObject({ ok: true, events: 40 })
  })
})

describe('verifying finds', () => {
  const cases: readonly {
    name: string
    seq: number
    why: RegExp
    tamper: (db: Db) => Promise<unknown>
  }[] = [
    {
      name: 'an edited event',
      seq: 2,
      why: /not what it was/,
      tamper: (db) => db`update event set reason = 'forged' where reason = '5'`,
    },
    {
      name: 'an edited detail',
      seq: 2,
      why: /not what it was/,
      tamper: (db) => db`update event set detail = '{"a": [true, null], "b": 2}' where reason = '5'`,
    },
    {
      name: 'a deleted event',
      seq: 2,
      why: /1 of its 4 events is missing/,
      tamper: (db) => db`delete from event where reason = '6'`,
    },
    {
      name: 'an event inserted into a sealed range',
      seq: 1,
      why: /1 event was inserted/,
      tamper: (db) => db`insert into event (xid, type, subject_type, subject_id, actor)
        select xid, 'forged', 'thing', 'one', 'test' from event where reason = '2'`,
    },
    {
      name: 'an event inserted before all others',
      seq: 1,
      why: /inserted/,
      tamper: (db) => db`insert into event (xid, type, subject_type, subject_id, actor)
        values ('1', 'forged', 'thing', 'one', 'test')`,
    },
    {
      name: 'an event inserted into an era that never was',
      seq: 1,
      why: /before the first era/,
      tamper: (db) => db`insert into event (era, xid, type, subject_type, subject_id, actor)
        values (0, '1', 'forged', 'thing', 'one', 'test')`,
    },
    {
      name: "two events in each other's place",
      seq: 1,
      why: /not what it was/,
      tamper: (db) => db`update event set reason = case reason when '1' then '2' else '1' end
        where reason in ('1', '2')`,
    },
    {
      name: 'a seal that was removed in the middle',
      seq: 2,
      why: /missing/,
      tamper: (db) => db`delete from event_seal where seq = 2`,
    },
    {
      name: 'a seal that was made without the key',
      seq: 3,
      why: /not signed/,
      tamper: async (db) => {
        await db`delete from event_seal where seq = 3`
        await db`delete from event where reason = '9'`
        await sealEvents({ db, sealer: createSealer('66'.repeat(32)), eventsMax: 4 })
      },
    },
    {
      name: 'a seal whose range was moved',
      seq: 3,
      why: /not begin where/,
      tamper: (db) => db`update event_seal set from_xid = to_xid where seq = 3`,
    },
  ]
  // promise: sealed-events
  test.each(cases)('$name, and names the first broken seal', async ({ seq, why, tamper }) => {
    const db = await sealed()
    await tamper(db)
    const report = await verifySeals(db, sealer, { keptDays: 365 })
    expect(report.ok).toBe(false)
    expect(report.firstBroken?.seq).toBe(seq)
    expect(report.firstBroken?.why).toMatch(why)
  })

  // promise: sealed-events
  test('a cut-off tail, with the head that somebody noted', async () => {
    const db = await sealed()
    const { head } = await verifySeals(db, sealer)
    expect(head?.seq).toBe(3)
    await db`delete from event_seal where seq = 3`
    await db`delete from event where reason in ('8', '9', '10', '11')`
    expect(await verifySeals(db, sealer)).toMatchObject({ ok: true })
    const report = await verifySeals(db, sealer, head ? { head } : {})
    expect(report).toMatchObject({ ok: false, firstBroken: { seq: 3 } })
  })
})
