import { describe, expect, test } from 'vitest'
import { type Db, openDb, type Queryable } from '../../../db/client.ts'
import { pruneOnce } from '../../../src/ledger/conductor/retention.ts'
import { pruneText } from '../../../src/ledger/seals/seal-texts.ts'
import { type VerifySealsOptions, verifySeals } from '../../../src/ledger/seals/verify-seals.ts'
import { createSealer } from '../../../src/seal/seal.ts'
import { atEnd } from '../../support/cleanup.ts'
import { pruning, sealAll, testSealer as sealer, writeEvents } from '../../support/events.ts'
import { createDatabase, reserveConnection } from '../../support/postgres.ts'

/**
 * The attacker has a full login of the database and may run any SQL, but has neither the key nor what was handed out.
 * Twelve events in three seals; where something was pruned, three seals of old events come before them.
 */
const write = async (db: Db, daysAgo = 0): Promise<void> => {
  for (let at = 0; at < 12; at += 1) await writeEvents(db, [{ reason: String(at) }], daysAgo)
  await sealAll(db, { daysAgo })
}
const sealed = async (): Promise<Db> => {
  const { db } = await createDatabase()
  await write(db)
  return db
}
/** Five events a batch: each statement is about one seal. */
const pruneAll = async (db: Db): Promise<void> => {
  while ((await pruneOnce({ db, batch: 5, ...pruning })).more);
}
const pruned = async (): Promise<Db> => {
  const { db } = await createDatabase()
  await write(db, 400)
  await write(db)
  await pruneAll(db)
  expect(await verifySeals(db, sealer)).toMatchObject({ ok: true, seals: 6, pruned: 3 })
  return db
}
const broken = async (db: Db, seq: number, why: RegExp, options: VerifySealsOptions = {}): Promise<void> => {
  const report = await verifySeals(db, sealer, options)
  expect(report).toMatchObject({ ok: false, firstBroken: { seq, why: expect.stringMatching(why) as string } })
}

// promise: hidden-history
test('seals that are marked as pruned do not hide that their events were deleted', async () => {
  const db = await sealed()
  await db`update event_seal set pruned_at = now() where seq = 1`
  await db`delete from event where reason in ('0', '1', '2', '3')`
  await broken(db, 1, /4 of its 4 events are missing, and no signed statement/)
})

describe('a function of the same name that hides an edit', () => {
  const constant = (name: string, args: string) =>
    `create function public.${name}(${args}) returns bytea language sql immutable as $$ select '\\x00'::bytea $$`
  const shadows = {
    sha256: constant('sha256', 'bytea'),
    convert_to: constant('convert_to', 'text, name'),
    string_agg: `${constant('keep', 'bytea, bytea, bytea')};
      create aggregate public.string_agg(bytea, bytea) (sfunc = public.keep, stype = bytea, initcond = '')`,
    concat_ws: `create function public.concat_ws(text, text, bigint, integer, text, text, integer) returns text
      language sql immutable as $$ select 'same' $$; ${constant('convert_to', 'text, name')}`,
  }
  for (const way of ['database', 'role'] as const)
    test.each(Object.keys(shadows) as (keyof typeof shadows)[])(
      `is of no use: %s, found first by the search path of the ${way}`,
      async (name) => {
        const { db: attacker, url, name: database } = await createDatabase()
        await attacker.unsafe(shadows[name])
        const of = way === 'database' ? `database ${database}` : `role current_user in database ${database}`
        await attacker.unsafe(`alter ${of} set search_path = public, pg_catalog`)
        const db = openDb({ url, max: 2, applicationName: 'drover-test-shadow' })
        atEnd(() => db.end({ timeout: 5 }))
        await write(db)
        expect(await verifySeals(db, sealer)).toMatchObject({ ok: true, events: 12 })
        await attacker`update event set detail = '{"forged": true}' where reason = '5'`
        await broken(db, 2, /not what it was/)
      },
    )

  test('and a connection looks names up where it says and reads values, whatever was set for its database', async () => {
    const { db: attacker, url, name } = await createDatabase()
    await attacker.unsafe(`create schema evil; create table evil.event as select * from public.event;
      alter database ${name} set search_path = evil, public;
      alter database ${name} set bytea_output = 'escape';
      alter database ${name} set datestyle = 'German'`)
    const db = openDb({ url, max: 1, applicationName: 'drover-test-shadow' })
    atEnd(() => db.end({ timeout: 5 }))
    const [row] = await db`select 'event'::regclass = 'public.event'::regclass as ours,
      '\\x5c00'::bytea as bytes, '2026-02-03T04:05:06Z'::timestamptz as at`
    expect(row).toEqual({ ours: true, bytes: Buffer.from([0x5c, 0]), at: new Date('2026-02-03T04:05:06Z') })
  })
})

describe('what was sealed and is still there', () => {
  test('cannot be edited in the parts of a second that a page does not show', async () => {
    const db = await sealed()
    await db`update event set at = at + interval '1 millisecond' where reason = '5'`
    await broken(db, 2, /not what it was/)
  })

  test('cannot get an event beside it, not even one of the lowest id or the same key', async () => {
    const db = await sealed()
    await db`insert into event (xid, id, type, subject_type, subject_id, actor) overriding system value
      select from_xid, '-9223372036854775808', 'forged', 'thing', 'one', 'test' from event_seal where seq = 2`
    await broken(db, 2, /1 event was inserted/)
    await db`delete from event where type = 'forged'`
    await db`alter table event drop constraint event_era_xid_id_pk`
    await db`insert into event (xid, id, type, subject_type, subject_id, actor) overriding system value
      select xid, id, 'forged', 'thing', 'one', 'test' from event where reason = '5'`
    await broken(db, 2, /1 event was inserted/)
  })

  test('cannot be dated back to look old enough', async () => {
    const db = await sealed()
    await db`update event_seal set sealed_at = now() - interval '400 days'`
    await broken(db, 1, /not signed/)
    expect(await pruneOnce({ db, ...pruning })).toMatchObject({ events: 0, refused: expect.any(String) })
  })

  test('cannot be dated back together with its events', async () => {
    const db = await sealed()
    await db`update event set at = at - interval '400 days'`
    await db`update event_seal set sealed_at = now() - interval '400 days'`
    expect(await pruneOnce({ db, ...pruning })).toMatchObject({ events: 0, refused: expect.any(String) })
    await broken(db, 1, /not signed/)
  })
})

describe('a statement about pruning', () => {
  test('that was made without the key is found', async () => {
    const db = await sealed()
    await db`insert into event_prune (from_seq, to_seq, kind, kept_days, through_hash, pruned_by, at, mac)
      select 1, 1, 'pruned', 365, hash, 'test', now(), mac from event_seal where seq = 1`
    await db`delete from event where reason in ('0', '1', '2', '3')`
    await broken(db, 1, /statement .* was not signed/)
  })

  test('cannot be played again for another range', async () => {
    const db = await pruned()
    await db`update event_prune set to_seq = 5 where from_seq = 3`
    await db`delete from event where xid < (select to_xid from event_seal where seq = 5)`
    await broken(db, 3, /statement .* was not signed/)
  })

  test('cannot be played again about a younger range beside it', async () => {
    const db = await pruned()
    await db`insert into event_prune
      select 4, 4, kind, kept_days, through_hash, pruned_by, at, mac from event_prune where from_seq = 3`
    await db`delete from event where xid < (select to_xid from event_seal where seq = 4)`
    await broken(db, 4, /statement .* was not signed/)
  })

  test('is missed when it was deleted', async () => {
    const db = await pruned()
    await db`delete from event_prune where from_seq = 2`
    await broken(db, 2, /(is|are) missing, and no signed statement/)
  })

  // promise: hidden-history
  test('is missed when it was deleted together with the seals it is about', async () => {
    const db = await pruned()
    await db`delete from event_prune`
    await db`delete from event_seal where seq <= 3`
    await broken(db, 1, /This seal is missing/)
  })

  test('does not let older rows come back', async () => {
    const { db } = await createDatabase()
    await write(db, 400)
    await db`create table kept as select * from event where reason = '1'`
    await pruneAll(db)
    await db`insert into event overriding system value select * from kept`
    await broken(db, 1, /events in ranges from here on, although retention took them/)
  })

  test('made under a lower floor says that the floor may have been raised since, by whom it was made, and where to go on', async () => {
    const { db } = await createDatabase()
    await write(db, 400)
    await db`insert into setting (name, value, updated_by) values ('retention-events-days', '40', 'test')`
    await pruneAll(db)
    await write(db)
    expect(await verifySeals(db, sealer, { floorDays: 40 })).toMatchObject({ ok: true, pruned: 3 })
    const today = new Date().toISOString().slice(0, 10)
    await broken(db, 1, new RegExp(`by test on ${today}T.* retention of 40 days, and .*MIN is 60 now`), {
      floorDays: 60,
    })
    await broken(
      db,
      1,
      /raised since .* as they should be, .* from seal 4; otherwise .* should not have had/,
      {
        floorDays: 60,
      },
    )
    expect(await verifySeals(db, sealer, { floorDays: 60, from: 4 })).toMatchObject({ ok: true, pruned: 0 })
  })

  test('that is forged never has the look of one that was made under a lower floor, nor says where to go on', async () => {
    const { db } = await createDatabase()
    await write(db, 400)
    await write(db)
    await db`insert into setting (name, value, updated_by) values ('retention-events-days', '40', 'test')`
    await pruneAll(db)
    await db`insert into event_prune (from_seq, to_seq, kind, kept_days, through_hash, pruned_by, at, mac)
      select 4, 6, 'pruned', 40, hash, 'test', now(), mac from event_seal where seq = 6`
    await db`delete from event where xid >= (select from_xid from event_seal where seq = 4)`
    await broken(db, 1, /from seal 4; otherwise/, { floorDays: 60 })
    await broken(db, 4, /statement .* was not signed/, { floorDays: 60, from: 4 })
  })

  test('about events that were too young even for its own retention is found as that, whatever the floor is', async () => {
    const { db } = await createDatabase()
    await write(db, 50)
    const [seal] = await db<{ hash: Buffer }[]>`select hash from event_seal where seq = 1`
    const unsigned = {
      ...{ fromSeq: 1, toSeq: 1, kind: 'pruned' as const, keptDays: 55, prunedBy: 'x', atMs: Date.now() },
      throughHash: seal?.hash ?? Buffer.alloc(0),
    }
    await db`insert into event_prune (from_seq, to_seq, kind, kept_days, through_hash, pruned_by, at, mac)
      values (1, 1, 'pruned', 55, ${unsigned.throughHash}, 'x', ${new Date(unsigned.atMs)},
        ${sealer.mac(pruneText(unsigned))})`
    await db`delete from event where xid < (select to_xid from event_seal where seq = 1)`
    await broken(db, 1, /they were not 55 days old/, { floorDays: 60 })
  })
})

describe('retention', () => {
  // promise: hidden-history
  test.each(['0', '1', '-5', '"now"'])(
    'that was set to %s in the database removes nothing that is younger than the floor',
    async (value) => {
      const { db } = await createDatabase()
      await write(db, 29)
      await db`insert into setting (name, value, updated_by) values ('retention-events-days', ${value}::text::jsonb, 'x')`
      expect(await pruneOnce({ db, ...pruning })).toMatchObject({ events: 0, more: false })
      expect(await verifySeals(db, sealer)).toMatchObject({ ok: true, events: 12, pruned: 0 })
    },
  )

  test('takes what is older than the floor when the setting says so, and the check with the true time finds it', async () => {
    const { db } = await createDatabase()
    await write(db, 31)
    await db`insert into setting (name, value, updated_by) values ('retention-events-days', '1', 'attacker')`
    await pruneAll(db)
    expect(await verifySeals(db, sealer)).toMatchObject({ ok: true, pruned: 3 })
    await broken(db, 1, /not 365 days old/, { keptDays: 365 })
  })

  test('does not sign away a chain that somebody else made', async () => {
    const { db } = await createDatabase()
    for (let at = 0; at < 4; at += 1) await writeEvents(db, [{ reason: String(at) }], 400)
    await sealAll(db, { daysAgo: 400, sealer: createSealer('66'.repeat(32)) })
    expect(await pruneOnce({ db, ...pruning })).toMatchObject({
      events: 0,
      refused: expect.stringMatching(/broken at seal 1/) as string,
    })
  })
})

describe('the function that removes events refuses by itself', () => {
  const call = (db: Queryable, from: number, to: number, days: number, limit = 100) => db`
    select drover_prune_events(${from}, ${to}, 'pruned', ${days}, '\\x00', 'attacker', now(), '\\x00', ${limit})`

  test('what is younger than its floor, whatever the statement says', async () => {
    const db = await sealed()
    await expect(call(db, 1, 1, 0)).rejects.toThrow(/kept for 30 days at least/)
    await expect(call(db, 1, 1, 365)).rejects.toThrow(/missing or not 365 days old/)
    await db`update event_seal set sealed_at = now() - interval '400 days'`
    await expect(call(db, 1, 1, 365)).rejects.toThrow(/missing or not 365 days old/)
    expect(await verifySeals(db, sealer)).toMatchObject({ ok: false })
    expect(await db`select 1 from event`).toHaveLength(12)
  })

  test('what is not sealed, what is out of turn, and more than it is asked for at once', async () => {
    const { db } = await createDatabase()
    await write(db, 400)
    await expect(call(db, 2, 2, 365)).rejects.toThrow(/in order, and the next one is 1/)
    await expect(call(db, 1, 4, 365)).rejects.toThrow(/missing or not/)
    await expect(call(db, 1, 1, 365, 10_001)).rejects.toThrow(/1 to 10000 events a call/)
  })

  test('and what it removes without a signature is found', async () => {
    const { db } = await createDatabase()
    await write(db, 400)
    await call(db, 1, 1, 365)
    await broken(db, 1, /statement .* was not signed/)
  })

  test('with functions and operators of its own, whoever calls it from wherever', async () => {
    const { db } = await createDatabase()
    await write(db, 1)
    await db.unsafe(`create schema evil; create function evil.clock_timestamp() returns timestamptz language sql
      as $$ select pg_catalog.now() + interval '4000 days' $$`)
    const own = await reserveConnection(db)
    try {
      await own`set search_path = evil, pg_catalog, public`
      await expect(call(own, 1, 1, 365)).rejects.toThrow(/missing or not 365 days old/)
      await own`set search_path = public, pg_temp`
    } finally {
      own.release()
    }
  })
})

describe('only a noted head shows', () => {
  const headOf = async (db: Db) => {
    const { head } = await verifySeals(db, sealer)
    if (!head) throw new Error('There is no head.')
    return { head }
  }

  test('that the tail was cut off: newest seals and their events; and a check without it says so', async () => {
    const db = await sealed()
    const noted = await headOf(db)
    await db`delete from event where xid >= (select from_xid from event_seal where seq = 3)`
    await db`delete from event_seal where seq = 3`
    const without = await verifySeals(db, sealer)
    expect(without.ok).toBe(true)
    expect(without.notShown.join(' ')).toMatch(/cut-off tail cannot be seen without a noted head/)
    expect(without.notShown.join(' ')).toMatch(/written after 20\d\d-.*Z are not sealed yet/)
    await broken(db, 3, /chain ends before this seal, but seal 3 is known/, noted)
    expect((await verifySeals(db, sealer, noted)).notShown.join(' ')).not.toMatch(/cut-off tail/)
  })

  test('that everything was emptied', async () => {
    const db = await pruned()
    const noted = await headOf(db)
    await db`truncate event, event_seal, event_prune`
    expect(await verifySeals(db, sealer)).toMatchObject({ ok: true, seals: 0 })
    await broken(db, 1, /chain ends before/, noted)
  })

  test('that the tail was cut off and sealed anew with other events by an honest conductor', async () => {
    const db = await sealed()
    const noted = await headOf(db)
    await db`delete from event_seal where seq = 3`
    await db`update event set reason = 'forged' where reason = '9'`
    await sealAll(db)
    expect(await verifySeals(db, sealer)).toMatchObject({ ok: true })
    await broken(db, 3, /not the seal that is known under this number/, noted)
  })
})

test('a whole chain that was made without the key is found at its first seal, with or without a head', async () => {
  const db = await sealed()
  const { head } = await verifySeals(db, sealer)
  await db`truncate event_seal`
  await db`update event set reason = 'forged' where reason = '9'`
  await sealAll(db, { sealer: createSealer('66'.repeat(32)) })
  await broken(db, 1, /not signed with this installation's key/)
  await broken(db, 1, /not signed with this installation's key/, head ? { head } : {})
})
