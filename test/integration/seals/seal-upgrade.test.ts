import { expect, test } from 'vitest'
import type { Db } from '../../../db/client.ts'
import { pruneOnce } from '../../../src/ledger/conductor/retention.ts'
import { verifySeals } from '../../../src/ledger/seals/verify-seals.ts'
import { pruning, sealAll, testSealer as sealer, writeEvents } from '../../support/events.ts'
import { sealAllAsBefore } from '../../support/first-seals.ts'
import { createDatabase } from '../../support/postgres.ts'

/** Four events in two seals of the version before, which that version then pruned, as it did: without a word. */
const prunedAsBefore = async (daysAgo: number): Promise<Db> => {
  const { db } = await createDatabase()
  for (let at = 0; at < 4; at += 1) await writeEvents(db, [{ reason: String(at) }], daysAgo)
  await sealAllAsBefore(db, { eventsMax: 2, daysAgo })
  await db`update event_seal set pruned_at = now()`
  await db`delete from event`
  await writeEvents(db, [{ reason: 'kept' }])
  await sealAllAsBefore(db)
  return db
}

test('a chain of the version before goes on to verify, whatever its events hold, and goes on', async () => {
  const { db } = await createDatabase()
  const odd = [
    '',
    ' ',
    'a,b',
    '("x")',
    'back\\slash',
    'tab\there',
    'line\nbreak',
    'größe 移行 😀',
    "it's",
    'a\u00a0b',
  ]
  for (const reason of odd) await writeEvents(db, [{ reason, subject: reason }])
  await db`insert into event (type, subject_type, subject_id, actor, job_id, from_state, to_state, detail, at)
    values ('thing.changed', 'thing', 'two', 'test', gen_random_uuid(), 'a', 'b',
      '{"deep": {"x": [1.50, "\\"quoted\\"", null]}, "a": "b,c"}', '2001-02-03 04:05:06.789+03')`
  await sealAllAsBefore(db)
  expect(await verifySeals(db, sealer)).toMatchObject({ ok: true, seals: 3, events: 11 })
  await writeEvents(db, [{ reason: 'new' }])
  await sealAll(db)
  expect(await verifySeals(db, sealer)).toMatchObject({ ok: true, seals: 4, events: 12 })
  const versions = await db`select version from event_seal order by seq`
  expect(versions.map(({ version }) => version)).toEqual([1, 1, 1, 2])
  await db`update event set reason = 'forged' where reason = 'a,b'`
  expect(await verifySeals(db, sealer)).toMatchObject({ ok: false, firstBroken: { seq: 1 } })
})

test('a seal cannot be passed off as one of the version before', async () => {
  const { db } = await createDatabase()
  await writeEvents(db, [{ reason: 'one' }])
  await sealAll(db)
  await db`update event_seal set version = 1`
  expect(await verifySeals(db, sealer)).toMatchObject({ ok: false, firstBroken: { seq: 1 } })
})

test('what the version before pruned is accepted once, as it was, and told as such', async () => {
  const db = await prunedAsBefore(400)
  expect(await verifySeals(db, sealer)).toMatchObject({ ok: false, firstBroken: { seq: 1 } })
  expect(await pruneOnce({ db, ...pruning })).toMatchObject({ events: 0 })
  const report = await verifySeals(db, sealer)
  expect(report).toMatchObject({ ok: true, pruned: 2, events: 1, accepted: { toSeq: 2 } })
  expect(report.notShown.join(' ')).toContain('seals 1 to 2')
  const told = await db`select detail from event where type = 'events.accepted'`
  expect(told.map(({ detail }) => detail)).toEqual([{ from_seq: 1, to_seq: 2, kept_days: 30 }])
  await pruneOnce({ db, ...pruning })
  expect(await db`select 1 from event_prune`).toHaveLength(1)
})

test('what was pruned before at an age below the floor is not accepted, and nothing more is removed', async () => {
  const db = await prunedAsBefore(10)
  expect(await pruneOnce({ db, ...pruning })).toMatchObject({
    events: 0,
    refused: expect.stringMatching(/DROVER_EVENTS_KEPT_DAYS_MIN/) as string,
  })
  expect(await verifySeals(db, sealer)).toMatchObject({ ok: false, firstBroken: { seq: 1 } })
})

test('events of a new seal are not accepted as gone before', async () => {
  const { db } = await createDatabase()
  await writeEvents(db, [{ reason: 'one' }], 400)
  await sealAll(db, { daysAgo: 400 })
  await db`update event_seal set pruned_at = now()`
  await db`delete from event`
  expect(await pruneOnce({ db, ...pruning })).toMatchObject({ refused: expect.any(String) as string })
  expect(await verifySeals(db, sealer)).toMatchObject({ ok: false, firstBroken: { seq: 1 } })
})

test('seals of the version before that are marked as pruned long after the upgrade are not accepted', async () => {
  const { db } = await createDatabase()
  for (let at = 0; at < 4; at += 1) await writeEvents(db, [{ reason: String(at) }], 100)
  await sealAllAsBefore(db, { eventsMax: 2, daysAgo: 100 })
  await writeEvents(db, [{ reason: 'new' }], 90)
  await sealAll(db, { daysAgo: 90 })
  await db`update event_seal set pruned_at = now() where seq = 1`
  await db`delete from event where reason in ('0', '1')`
  expect(await pruneOnce({ db, ...pruning })).toMatchObject({
    refused: expect.stringMatching(/too long since the upgrade/) as string,
  })
  expect(await verifySeals(db, sealer)).toMatchObject({ ok: false, firstBroken: { seq: 1 } })
})
