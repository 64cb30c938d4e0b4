import { expect, test } from 'vitest'
import { type Db, openDb } from '../../../db/client.ts'
import { endOfEra } from '../../../db/queries/seals/seal-events.ts'
import { readNewestSeal } from '../../../db/queries/seals/verify-seals.ts'
import { pruneOnce } from '../../../src/ledger/conductor/retention.ts'
import { repairLines } from '../../../src/ledger/seals/repair-lines.ts'
import { repairSeals } from '../../../src/ledger/seals/repair-seals.ts'
import { sealEvents } from '../../../src/ledger/seals/seal-events.ts'
import { verifySeals } from '../../../src/ledger/seals/verify-seals.ts'
import type { SealHead } from '../../../src/seal/seal-head.ts'
import { atEnd } from '../../support/cleanup.ts'
import { pruning, sealAll, testSealer as sealer, untilReadable, writeEvents } from '../../support/events.ts'
import { loginUrl } from '../../support/logins.ts'
import { createDatabase } from '../../support/postgres.ts'

/** A chain of ours, the login of a conductor in other hands, and the owner's. */
const setUp = async (daysAgo = 0) => {
  const { db, url } = await createDatabase()
  await writeEvents(db, [{ reason: 'first' }], daysAgo)
  await sealAll(db, { daysAgo })
  const as = (who: 'conductor' | 'owner'): Db => {
    const opened = openDb({ url: loginUrl(url, who), max: 1, applicationName: `drover-${who}` })
    atEnd(() => opened.end({ timeout: 1 }))
    return opened
  }
  const owner = as('owner')
  const repair = (heads: readonly SealHead[] | 'none' = 'none') => repairSeals({ db: owner, sealer, heads })
  return { db, thief: as('conductor'), repair }
}

/** What somebody noted elsewhere about the newest seal. */
const noteHead = async (db: Db): Promise<SealHead> => {
  const seal = await readNewestSeal(db)
  return { seq: seal?.seq ?? 0, hash: seal?.hash.toString('hex') ?? '' }
}

/** The false statement of a thief, and how many events the owner's function removes for it. */
const pruneFalsely = async (thief: Db, from: number, to: number, limit = 100): Promise<void> => {
  await thief`select public.drover_prune_events(${from}, ${to}, 'pruned', 30, ${Buffer.alloc(32)}, 'thief', now(), 'x',
    ${limit}::int)`
}

const countEvents = async (db: Db): Promise<number> =>
  (await db<{ all: number }[]>`select count(*)::int as all from event where type = 'thing.changed'`)[0]
    ?.all ?? 0

const addFalse = async (thief: Db, toXid: string): Promise<void> => {
  const last = await readNewestSeal(thief)
  await thief`insert into event_seal (seq, era, from_xid, to_xid, events, previous_hash, hash, mac, version)
    values (${(last?.seq ?? 0) + 1}, 1, ${last?.toXid ?? '0'}::xid8, ${toXid}::xid8, 0, ${last?.hash ?? Buffer.alloc(32)},
      ${Buffer.alloc(32, 9)}, 'x', 2)`
}

test('a false seal that stops all sealing is found, taken away by the owner, and sealing goes on with every event', async () => {
  const { db, thief, repair } = await setUp()
  await addFalse(thief, endOfEra)
  await writeEvents(db, [{ reason: 'second' }])
  await untilReadable(db)
  expect(await sealEvents({ db, sealer })).toBe('nothing')
  expect(await verifySeals(db, sealer)).toMatchObject({ ok: false, firstBroken: { seq: 2 } })
  const report = await repair()
  expect(report).toMatchObject({ seals: [{ seq: 2, ours: false }], statements: [] })
  expect(repairLines(report).join(' ')).toContain('note a new one')
  await sealAll(db)
  const events = await db<{ all: number }[]>`select count(*)::int as all from event`
  expect(await verifySeals(db, sealer)).toMatchObject({ ok: true, events: events[0]?.all })
  expect(await db`select actor from event where type = 'sealing.repaired'`).toEqual([
    { actor: 'repair-seals' },
  ])
  expect(repairLines(await repair()).join(' ')).toContain('nothing to do')
})

test('seals that our conductor made behind a false one are made anew, unless an event of theirs was changed', async () => {
  const { db, thief, repair } = await setUp()
  const [{ xmin } = { xmin: '0' }] = await db<{ xmin: string }[]>`
    select (select to_xid from event_seal where seq = 1)::text as xmin`
  await addFalse(thief, xmin)
  await writeEvents(db, [{ reason: 'second' }])
  await sealAll(db)
  await db`update event set reason = 'edited' where reason = 'second'`
  await expect(repair()).rejects.toMatchObject({ code: 'events-changed' })
  expect(await readNewestSeal(db)).toMatchObject({ seq: 3 })
  await db`update event set reason = 'second' where reason = 'edited'`
  expect((await repair()).seals).toMatchObject([
    { seq: 2, ours: false },
    { seq: 3, ours: true },
  ])
  await sealAll(db)
  expect(await verifySeals(db, sealer)).toMatchObject({ ok: true })
})

test('a seal of ours that is missing or was replaced is repaired by nobody', async () => {
  const { db, repair } = await setUp()
  for (const reason of ['second', 'third']) {
    await writeEvents(db, [{ reason }])
    await sealAll(db)
  }
  await db`update event_seal set hash = 'other' where seq = 2`
  await expect(repair()).rejects.toMatchObject({ code: 'events-changed' })
  await db`delete from event_seal where seq = 2`
  await expect(repair()).rejects.toMatchObject({ code: 'events-changed' })
})

test('a false statement about pruning stops retention, and is replaced by one that says what is gone', async () => {
  const { db, thief, repair } = await setUp(400)
  await writeEvents(db, [{ reason: 'young' }])
  await sealAll(db)
  await pruneFalsely(thief, 1, 1)
  expect(await verifySeals(db, sealer)).toMatchObject({ ok: false, firstBroken: { seq: 1 } })
  expect(await pruneOnce({ db, ...pruning })).toMatchObject({
    events: 0,
    refused: expect.stringContaining('seal 1'),
  })
  const report = await repair()
  expect(report).toMatchObject({
    seals: [],
    statements: [{ fromSeq: 1, toSeq: 1, missing: 1, kept: 0, signedTo: 1 }],
  })
  expect(repairLines(report).join(' ')).toContain('in your backups')
  expect(await verifySeals(db, sealer)).toMatchObject({ ok: true, pruned: 1 })
  expect(await db`select pruned_by from event_prune`).toEqual([{ prunedBy: 'repair-seals' }])
  expect(await pruneOnce({ db, ...pruning })).not.toHaveProperty('refused')
})

test('a login adds no seal and no statement with a number or a moment that stops checks, sealing or repairs', async () => {
  const { db, thief } = await setUp(400)
  const add = (seq: string, at: string) => thief`
    insert into event_seal (seq, era, from_xid, to_xid, events, previous_hash, hash, mac, version, sealed_at)
    values (${seq}::text::bigint, 1, '0'::xid8, '1'::xid8, 0, 'x', 'x', 'x', 2, ${at}::text::timestamptz)`
  for (const seq of ['9223372036854775807', '9007199254740992', '0', '-1'])
    await expect(add(seq, '2026-01-01')).rejects.toMatchObject({ constraint_name: 'event_seal_seq' })
  for (const at of ['infinity', '-infinity', '290000-01-01', '4000-01-01 BC'])
    await expect(add('2', at)).rejects.toMatchObject({ constraint_name: 'event_seal_moment' })
  for (const at of ['infinity', '-infinity', '290000-01-01', null])
    await expect(
      thief`select public.drover_prune_events(1, 1, 'pruned', 30, ${Buffer.alloc(32)}, 'thief',
        ${at}::text::timestamptz, 'x', 100)`,
    ).rejects.toThrow('moment of a statement is out of range')
  await expect(
    db`insert into event_prune values (1, 9223372036854775807, 'pruned', 30, 'x', 'thief', 'infinity', 'x')`,
  ).rejects.toMatchObject({ constraint_name: expect.stringMatching(/^event_prune_(seq|moment)$/) })
  expect(await verifySeals(db, sealer)).toMatchObject({ ok: true })
  expect(
    await db`select has_function_privilege('public', 'public.drover_prune_events(bigint, bigint, text, integer,
    bytea, text, timestamptz, bytea, integer)', 'execute') as everybody`,
  ).toEqual([{ everybody: false }])
})

test('several false statements behind a true one are replaced by one for the whole span that is gone', async () => {
  const { db, thief, repair } = await setUp(400)
  expect(await pruneOnce({ db, ...pruning })).toMatchObject({ events: 1 })
  // The event of the pruning is of today, and would keep its seal from being pruned.
  await db`update event set at = now() - interval '300 days' where type = 'events.pruned'`
  for (const reason of ['second', 'third', 'fourth']) {
    await writeEvents(db, [{ reason }], 300)
    await sealAll(db, { daysAgo: 300 })
  }
  const newest = (await readNewestSeal(db))?.seq ?? 0
  const [{ to } = { to: 0 }] = await db<{ to: number }[]>`select max(to_seq) as to from event_prune`
  for (let seq = to + 1; seq <= newest; seq += 1) await pruneFalsely(thief, seq, seq)
  const report = await repair()
  expect(report.statements).toMatchObject([
    { fromSeq: to + 1, toSeq: newest, statements: newest - to, kept: 0, signedTo: newest },
  ])
  expect(report.statements[0]?.missing).toBe(report.statements[0]?.missingSigned)
  expect(await verifySeals(db, sealer)).toMatchObject({ ok: true, pruned: newest })
  expect(await db`select pruned_by from event_prune order by from_seq`).toEqual([
    { prunedBy: 'test' },
    { prunedBy: 'repair-seals' },
  ])
})

test('events that a false statement left are never deleted: a statement is signed only up to where all are gone', async () => {
  const { db, thief, repair } = await setUp(400)
  for (const reason of ['second', 'third']) {
    await writeEvents(db, [{ reason }, { reason }], 400)
    await sealAll(db, { daysAgo: 400 })
  }
  await pruneFalsely(thief, 1, 3, 1)
  await db`delete from event where reason = 'first'`
  await db`delete from event where id = (select min(id) from event where reason = 'second')`
  const left = await countEvents(db)
  const missing = 5 - left
  const report = await repair()
  expect(await countEvents(db)).toBe(left)
  expect(report.statements).toMatchObject([
    { fromSeq: 1, toSeq: 3, missing, kept: left, signedTo: 1, missingSigned: 1 },
  ])
  const text = repairLines(report).join(' ')
  expect(text).toContain(`${missing} are gone for good, and ${left} are still there`)
  expect(text).toContain('No event was changed or deleted by this')
  expect(await verifySeals(db, sealer)).toMatchObject({
    ok: false,
    firstBroken: { seq: 2, why: expect.stringMatching(/(is|are) missing, and no signed statement/) },
  })
  expect(await pruneOnce({ db, ...pruning })).not.toHaveProperty('refused')
})

test('how old events must be is what the database says, whatever this process was told', async () => {
  const { db, thief, repair } = await setUp(400)
  await db`update event_floor set kept_days_min = 365`
  await thief`select public.drover_prune_events(1, 1, 'pruned', 365, ${Buffer.alloc(32)}, 'thief', now(), 'x', 100)`
  expect((await repair()).statements).toMatchObject([{ keptDays: 365, signedTo: 1 }])
  expect(await db`select kept_days from event_prune`).toEqual([{ keptDays: 365 }])
  expect(await verifySeals(db, sealer, { floorDays: 365 })).toMatchObject({ ok: true })
})

test('a seal of ours that was made to look false is not taken away where its head was noted', async () => {
  const { db, repair } = await setUp()
  const before = await noteHead(db)
  await writeEvents(db, [{ reason: 'second' }])
  await sealAll(db)
  const head = await noteHead(db)
  await db`update event set reason = 'edited' where reason = 'second'`
  await db`update event_seal set mac = 'spoilt' where seq = ${head.seq}`
  await expect(repair([])).rejects.toMatchObject({ code: 'head-needed' })
  await expect(repair([before, head])).rejects.toMatchObject({ code: 'events-changed' })
  await expect(repair([{ ...before, hash: '00'.repeat(32) }])).rejects.toMatchObject({
    code: 'events-changed',
  })
  expect(await readNewestSeal(db)).toMatchObject({ seq: head.seq })
  const report = await repair([before])
  const text = repairLines(report).join(' ')
  expect(text).toContain(`The events of seal ${head.seq} are unproved`)
  expect(text).toContain(`Head ${before.seq} proves what is before it`)
  expect(
    await db`select (detail ->> 'unproved_from')::int as seq from event where type = 'sealing.repaired'`,
  ).toEqual([{ seq: head.seq }])
})

test('without any head a repair says that an edit could be hidden by it, in words that fit the numbers', async () => {
  const { thief, repair } = await setUp()
  await addFalse(thief, endOfEra)
  const text = repairLines(await repair('none')).join(' ')
  expect(text).toContain('Seal 2 was taken away. The conductor')
  expect(text).toContain('No head was given')
  expect(text).not.toMatch(/\b1 (seals|events|statements)|\b0 of our own/)
})
